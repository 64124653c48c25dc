#include "runtime/rpc/grpc/access_token.h"

#include <openssl/crypto.h>

#include "absl/strings/str_cat.h"

namespace weir::rpc {
namespace {

// The usual place of a bearer token (RFC 6750, section 2.1); gRPC's names are in lower case.
constexpr char kHeader[] = "authorization";
constexpr char kScheme[] = "Bearer ";

}  // namespace

std::string TokenFor(const Security& security, const std::string& peer) {
  return security.tls || !IsLoopback(peer) ? std::string() : security.token;
}

void ShowToken(const std::string& token, grpc::ClientContext& context) {
  if (!token.empty()) context.AddMetadata(kHeader, absl::StrCat(kScheme, token));
}

absl::Status CheckToken(const std::string& token, const grpc::CallbackServerContext& context) {
  if (token.empty()) return absl::OkStatus();
  const auto shown = context.client_metadata().find(kHeader);
  if (shown != context.client_metadata().end()) {
    const std::string expected = absl::StrCat(kScheme, token);
    // In constant time, so that nobody finds it byte by byte.
    if (shown->second.size() == expected.size() &&
        CRYPTO_memcmp(shown->second.data(), expected.data(), expected.size()) == 0) {
      return absl::OkStatus();
    }
  }
  return absl::UnauthenticatedError(
      "this process serves the user that started it, and the call does not show that user's token; "
      "run weir as that user, or give --token-file FILE with a token file of theirs; where that "
      "file was replaced, start master and workers again, which read it once");
}

}  // namespace weir::rpc
