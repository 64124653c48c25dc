#include "runtime/app/access_token.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/env/real/state_directory.h"
#include "runtime/env/real/token_file.h"

namespace weir::app {

absl::StatusOr<std::string> TakeToken(const std::string& chosen, TokenUse use) {
  if (use == TokenUse::kCall) return env::FindToken(chosen);
  const bool shared = !chosen.empty();
  const std::string directory = env::StateDirectory();
  if (!shared && directory.empty()) {
    return absl::UnavailableError(
        "there is no home directory to keep a token in: set XDG_STATE_HOME or give --token-file");
  }
  const std::string path = shared ? chosen : directory + "/token";
  absl::StatusOr<std::string> token = env::ReadTokenFile(path, shared);
  if (!absl::IsNotFound(token.status())) return token;
  // What a wrong path would make, no master knows: the worker would be refused without end.
  if (shared && use == TokenUse::kWorker) return token;
  if (absl::Status made = env::MakeTokenFile(path); !made.ok()) {
    return absl::UnavailableError(
        absl::StrCat(made.message(), "; give another place: --token-file FILE"));
  }
  LogInfo("A token file was made", {{"file", path}});
  return env::ReadTokenFile(path, shared);
}

}  // namespace weir::app
