#pragma once

// Says why TLS with a peer fails, which gRPC does not: it reports that a socket closed. Upstream:
// runtime/app, before the first call and while a worker cannot register.

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/rpc/grpc/listen_security.h"

namespace weir::rpc {

/// Connects to HOST:PORT, makes a TLS handshake as a call would, and waits for the server's first
/// word, before which it has judged our certificate.
///
/// Returns: OK as well when there is no TLS to try (no files, a Unix socket) or nobody answers in
///   time: the call itself then says so. kFailedPrecondition: TLS works for one side only, naming
///   which certificate is refused and why, or that the peer speaks no TLS.
/// Blocking: up to `timeout`, and while the host is looked up.
/// Checked by: tests/unit/rpc/tls_probe_test.cc.
absl::Status TryTlsHandshake(const std::string& peer, const Security& security,
                             absl::Duration timeout);

}  // namespace weir::rpc
