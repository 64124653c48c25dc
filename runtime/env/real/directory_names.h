#pragma once

// What lies in an open directory. Upstream: PosixStorage, RemoveTree. Downstream: the kernel.

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace weir::env {

/// Returns the names in a directory, sorted, "." and ".." left out. Takes the descriptor over;
/// messages name `path`.
absl::StatusOr<std::vector<std::string>> NamesIn(int directory_fd, const std::string& path);

}  // namespace weir::env
