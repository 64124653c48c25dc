#pragma once

// Who may listen where, and who may call: loopback needs the token of its user, everything else
// needs TLS files or an explicit "insecure". Upstream: flags (runtime/app). Downstream: GrpcServer,
// GrpcClients, the data plane's listener.

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
  /// The user said --insecure: plain text on any address, and nobody is asked who they are.
  bool insecure = false;
  /// What only processes of one user can read. Clients show it to peers on loopback, never beyond;
  /// servers without TLS and without --insecure answer those alone who show it.
  std::string token = {};

  bool NeedsToken() const { return !tls && !insecure; }
};

/// True for "localhost:1", "127.0.0.1:1", "[::1]:1" and Unix sockets: nobody outside this machine
/// reaches them.
bool IsLoopback(const std::string& address);

/// Errors: kInvalidArgument for what is not host:port; kFailedPrecondition for an address beyond
/// loopback without TLS and without --insecure, and for loopback without a token where one is
/// needed.
absl::Status CheckListenAddress(const std::string& address, const Security& security);

}  // namespace weir::rpc
