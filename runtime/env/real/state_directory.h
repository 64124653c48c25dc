#pragma once

// Where this user's programs keep what outlives them. Upstream: environment, user database.

#include <string>

namespace weir::env {

/// Returns $XDG_STATE_HOME/weir, else ~/.local/state/weir; empty when there is no home either. Not
/// made here.
std::string StateDirectory();

}  // namespace weir::env
