#include "runtime/app/access_token.h"

#include "absl/strings/str_cat.h"
#include "runtime/app/state_directory.h"
#include "runtime/env/real/token_file.h"

namespace weir::app {

absl::StatusOr<std::string> TakeToken(const std::string& chosen, TokenUse use) {
  const bool shared = !chosen.empty();
  const std::string directory = StateDirectory();
  if (!shared && directory.empty()) {
    if (use == TokenUse::kCall) return std::string();
    return absl::UnavailableError(
        "there is no home directory to keep a token in: set XDG_STATE_HOME or give --token-file");
  }
  const std::string path = shared ? chosen : directory + "/token";
  absl::StatusOr<std::string> token = env::ReadTokenFile(path, shared);
  if (!absl::IsNotFound(token.status())) return token;
  if (use == TokenUse::kCall) return shared ? token : std::string();
  if (absl::Status made = env::MakeTokenFile(path); !made.ok()) {
    return absl::UnavailableError(
        absl::StrCat(made.message(), "; give another place: --token-file FILE"));
  }
  return env::ReadTokenFile(path, shared);
}

}  // namespace weir::app
