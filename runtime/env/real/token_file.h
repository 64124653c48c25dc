#pragma once

// The file that shows who a caller is: whoever can read it may do what its user's master and
// workers on loopback can. Upstream: runtime/app, runtime/reduce. Downstream: the kernel.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir::env {

/// Returns the token in the file. It must be this user's and nobody else's (mode 600); with
/// `shared` it may be anybody's and readable for a group, so that several people use one master.
/// Errors: kNotFound; kFailedPrecondition for a file that others can use, kInvalidArgument for one
///   that holds no token; each names the file and what to do.
/// Checked by: tests/unit/env/token_file_test.cc.
absl::StatusOr<std::string> ReadTokenFile(const std::string& path, bool shared);

/// Returns the token that this user's programs show to a master on loopback: that in `chosen`,
/// which may be shared with a group, or in the user's own file (StateDirectory()/token) when that
/// is empty. Empty when the user has no such file. Errors: those of ReadTokenFile, but kNotFound
/// only for a file that was chosen. Checked by: tests/unit/env/token_file_test.cc.
absl::StatusOr<std::string> FindToken(const std::string& chosen);

/// Makes the file, and the directories above it, with a random token; leaves one that is there as
/// it is. It appears whole or not at all, so that of two daemons that start at once both take the
/// same.
absl::Status MakeTokenFile(const std::string& path);

}  // namespace weir::env
