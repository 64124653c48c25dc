#pragma once

// Which token this process shows, and asks for. Upstream: flags. Downstream: rpc::Security.

#include <string>

#include "absl/status/statusor.h"

namespace weir::app {

enum class TokenUse {
  kServe,  // make the file if there is none
  kCall,   // no file is no token
};

/// Returns the token in `chosen`, which may be shared with a group, or in the user's own file
/// (env::StateDirectory()/token) when that is empty.
/// Errors: those of env::ReadTokenFile; kUnavailable for a file that cannot be made.
absl::StatusOr<std::string> TakeToken(const std::string& chosen, TokenUse use);

}  // namespace weir::app
