#include "runtime/rpc/grpc/caller_rules.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

#include <algorithm>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/rpc/grpc/access_token.h"

namespace weir::rpc {
namespace {

constexpr char kRoleScheme[] = "weir:";

std::vector<std::string> ValuesOf(const grpc::AuthContext& caller, const char* property) {
  std::vector<std::string> values;
  for (const grpc::string_ref& value : caller.FindPropertyValues(property)) {
    values.emplace_back(value.data(), value.size());
  }
  return values;
}

}  // namespace

CallerRules CallerRulesOf(const Security& security) {
  return {.token = security.NeedsToken() ? security.token : std::string(),
          .roles = security.tls.has_value()};
}

absl::Status CheckRoles(const std::vector<std::string>& uris, std::string_view holder,
                        std::string_view service, std::string_view role) {
  std::vector<std::string> roles;
  for (const std::string& uri : uris) {
    if (absl::StartsWith(uri, kRoleScheme)) roles.push_back(uri);
  }
  const std::string wanted = absl::StrCat(kRoleScheme, std::string(role));
  if (roles.empty() || std::find(roles.begin(), roles.end(), wanted) != roles.end()) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat("the certificate CN=", std::string(holder), " of the caller is for ",
                   absl::StrJoin(roles, " and "), ", and ", std::string(service), " answers ",
                   wanted, " alone; call with a certificate that has URI:", wanted,
                   " among its subject alternative names, or no such name"));
}

absl::Status CheckCaller(const CallerRules& rules, std::string_view service, std::string_view role,
                         const grpc::CallbackServerContext& context) {
  if (absl::Status known = CheckToken(rules.token, context); !known.ok()) return known;
  if (!rules.roles) return absl::OkStatus();
  const std::shared_ptr<const grpc::AuthContext> caller = context.auth_context();
  const std::vector<std::string> names = ValuesOf(*caller, GRPC_X509_CN_PROPERTY_NAME);
  return CheckRoles(ValuesOf(*caller, GRPC_PEER_URI_PROPERTY_NAME),
                    names.empty() ? std::string() : names.front(), service, role);
}

}  // namespace weir::rpc
