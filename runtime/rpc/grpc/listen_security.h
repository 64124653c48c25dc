#pragma once

// Who may listen where: loopback needs nothing, everything else needs TLS files or an explicit
// "insecure". Upstream: flags (runtime/app). Downstream: GrpcServer, GrpcClients, the data plane's
// listener.

#include <optional>
#include <string>

#include "absl/status/status.h"

namespace weir::rpc {

/// Contents of PEM files. Both sides show a certificate that the authority signed.
struct TlsIdentity {
  std::string certificate_pem;
  std::string key_pem;
  std::string authority_pem;
};

struct Security {
  std::optional<TlsIdentity> tls;
  /// The user said --insecure: plain text on any address.
  bool insecure = false;
};

/// True for "localhost:1", "127.0.0.1:1", "[::1]:1" and Unix sockets: nobody outside this machine
/// reaches them.
bool IsLoopback(const std::string& address);

/// Errors: kInvalidArgument for what is not host:port; kFailedPrecondition for an address beyond
/// loopback without TLS and without --insecure.
absl::Status CheckListenAddress(const std::string& address, const Security& security);

}  // namespace weir::rpc
