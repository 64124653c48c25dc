#pragma once

// Which token this process shows, and asks for. Upstream: flags. Downstream: rpc::Security.

#include <string>

#include "absl/status/statusor.h"

namespace weir::app {

enum class TokenUse {
  kMaster,  // make the file if there is none
  kWorker,  // make the user's own if there is none: one that is named, a master has made
  kCall,    // no file is no token
};

/// Returns the token in `chosen`, which may be shared with a group, or in the user's own file
/// (env::StateDirectory()/token) when that is empty.
/// Errors: those of env::ReadTokenFile, kNotFound only for a file that was chosen; kUnavailable for
/// a file that cannot be made.
absl::StatusOr<std::string> TakeToken(const std::string& chosen, TokenUse use);

}  // namespace weir::app
