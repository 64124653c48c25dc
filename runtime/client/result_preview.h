#pragma once

// The first rows of a result, for people. Upstream: commands that run a job to its end.
// Downstream: the file system.

#include <string>
#include <vector>

namespace weir::client {

/// Returns up to `rows_max` rows from the front of the parts, in order, each on a line of its own
/// of at most `columns`; what is not printable stands as an escape, what is cut ends in "...".
/// Empty when the parts hold nothing or cannot be read here. Bounds: reads at most 64 kB.
std::string PreviewRows(const std::vector<std::string>& part_paths, int rows_max, int columns);

}  // namespace weir::client
