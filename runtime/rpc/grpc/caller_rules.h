#pragma once

// What a call must show before anything of ours sees it: the token of the user, or a certificate
// whose roles the service answers. Upstream: GrpcServer. Downstream: ServeUnary, ServeStream.

#include <grpcpp/server_context.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "runtime/rpc/grpc/listen_security.h"

namespace weir::rpc {

/// What a server asks of its callers.
struct CallerRules {
  /// Calls must show it; empty: they need not.
  std::string token = {};
  /// Callers have shown certificates, which may say what their holders are.
  bool roles = false;
};

/// Returns what a server of that security asks.
CallerRules CallerRulesOf(const Security& security);

/// Checks that who shows a certificate may call a service that answers `role`.
///
/// `uris`: the URIs among its subject alternative names. Those that begin with "weir:" name the
/// roles of its holder ("weir:client", "weir:worker", "weir:master"); one that names none may call
/// everything, as all could before there were roles.
/// Errors: kPermissionDenied naming `holder`, its roles, `service` and what to do.
absl::Status CheckRoles(const std::vector<std::string>& uris, std::string_view holder,
                        std::string_view service, std::string_view role);

/// Checks one call to `service`. Thread-safe.
/// Errors: those of CheckToken and CheckRoles.
absl::Status CheckCaller(const CallerRules& rules, std::string_view service, std::string_view role,
                         const grpc::CallbackServerContext& context);

/// The same for a call of one method.
template <typename Method>
absl::Status CheckCallerOf(const CallerRules& rules, const grpc::CallbackServerContext& context) {
  return CheckCaller(rules, Method::Service::kName, Method::Service::kCallerRole, context);
}

}  // namespace weir::rpc
