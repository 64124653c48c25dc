#pragma once

// How the place of a bad record travels from a reader or a job to the user: as payload of a Status.
// Upstream: readers and jobs. Downstream: runtime/task, which turns it into a named error.

#include <optional>

#include "absl/status/status.h"
#include "jobs/api/program.h"

namespace weir {

/// Makes a kInvalidArgument that says what is wrong with the record and where it is, and carries
/// the record along.
absl::Status BadRecordError(const BadRecord& record);

/// Returns the record that BadRecordError attached, if any.
std::optional<BadRecord> BadRecordOf(const absl::Status& status);

}  // namespace weir
