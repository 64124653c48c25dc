#pragma once

// A process's own TLS files: read, and what must hold of them before they are used. Upstream:
// runtime/app, runtime/reduce. Downstream: GrpcServer, GrpcClients, which say of files that do not
// hold no more than that a socket closed.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/env/storage.h"
#include "runtime/rpc/grpc/listen_security.h"

namespace weir::rpc {

/// One word for each of the files: where it lies, or how errors call it.
struct TlsFileNames {
  std::string certificate;
  std::string key;
  std::string authority;
};

/// What a process shows its certificate for.
enum class TlsUse {
  kCalls,   // as a client
  kServes,  // as a server, and as a client: master and workers call each other
};

/// Checks that certificate, key and authority are PEM and fit together at `now`: the key is the
/// certificate's, no certificate of the chain is expired or not valid yet, the authority signed it,
/// and it may be used for `use`, which is how the other side will judge.
///
/// Pure. Errors: kInvalidArgument (not PEM, a key with a passphrase, a key that does not fit);
///   kFailedPrecondition (expired, not valid yet, signed by somebody else, not for this use). All
///   name the file, and the certificate by its subject.
/// Checked by: tests/unit/rpc/tls_files_test.cc.
absl::Status CheckTlsFiles(const TlsIdentity& identity, const TlsFileNames& names, absl::Time now,
                           TlsUse use);

/// Returns the last moment after `now` until which others accept these files: the end of a
/// certificate without which CheckTlsFiles fails. InfiniteFuture where there is none.
///
/// Requires: CheckTlsFiles is OK at `now`. Pure.
/// Checked by: tests/unit/rpc/tls_files_test.cc (AreGoodUntilTheFirstNeededCertificateEnds).
absl::Time TlsFilesGoodUntil(const TlsIdentity& identity, absl::Time now, TlsUse use);

/// Reads the files at `paths` and checks them as CheckTlsFiles does. `given_by` is what the user
/// named each with ("--tls-cert"): two of the three may have one path, or look alike.
///
/// Errors: those of Storage::ReadFile and of CheckTlsFiles, naming the path and what it was given
///   by.
/// Blocking: reads three files. Thread-safety: as storage.
/// Checked by: tests/unit/rpc/tls_files_test.cc, tests/integration/tls_test.py.
absl::StatusOr<TlsIdentity> ReadTlsFiles(env::Storage& storage, const TlsFileNames& paths,
                                         const TlsFileNames& given_by, absl::Time now, TlsUse use);

}  // namespace weir::rpc
