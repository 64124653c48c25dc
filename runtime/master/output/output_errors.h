#pragma once

// Errors about output directories, with what to do about them. Upstream: the files beside this one.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weir::master {

/// OUTPUT_EXISTS: there is one, and the job does not overwrite.
absl::Status OutputExists(const std::string& output);

/// OUTPUT_EXISTS: an overwrite would delete these names, which Weir did not write.
absl::Status OutputIsForeign(const std::string& output, const std::vector<std::string>& foreign);

/// Adds what the master was doing. DISK_FULL stays that, all else is OUTPUT_UNUSABLE; the status
/// code stays.
absl::Status FromStorage(const absl::Status& status, absl::string_view doing);

}  // namespace weir::master
