#pragma once

// What must hold of a process's own TLS files before they are used. Upstream: runtime/app.
// Downstream: GrpcServer, GrpcClients, which say of files that do not hold no more than that a
// socket closed.

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/rpc/grpc/listen_security.h"

namespace weir::rpc {

/// How errors call the files.
struct TlsFileNames {
  std::string certificate;
  std::string key;
  std::string authority;
};

/// Checks that certificate, key and authority are PEM and fit together at `now`: the key is the
/// certificate's, no certificate of the chain is expired or not valid yet, and the authority signed
/// it, which is how the other side will judge.
///
/// Pure. Errors: kInvalidArgument (not PEM, a key with a passphrase, a key that does not fit);
///   kFailedPrecondition (expired, not valid yet, signed by somebody else). All name the file, and
///   the certificate by its subject.
/// Checked by: tests/unit/rpc/tls_files_test.cc.
absl::Status CheckTlsFiles(const TlsIdentity& identity, const TlsFileNames& names, absl::Time now);

}  // namespace weir::rpc
