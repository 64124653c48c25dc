#pragma once

// Reads files from front to back. Upstream: commands that look at data. Downstream: the file
// system.

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace weir::client {

/// Calls visit(bytes) for pieces of at most 1 MiB of a file, in order, until it returns an error.
/// Errors: the errno of the call, naming the path; those of visit.
absl::Status VisitFileBytes(const std::string& path,
                            const std::function<absl::Status(std::string_view bytes)>& visit);

}  // namespace weir::client
