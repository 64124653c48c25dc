#pragma once

// The names of the ways to store a result. Pure.
// Upstream: JobSpec.write_mode, at submission and when the job is planned. Downstream: PlanRequest.

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "planner/job/job_shape.h"

namespace weir::master {

/// Returns how the output of that mode is stored, without its rate: "parts" (also when empty),
/// "parallel", "parallel:N" for at most N at once, "one".
/// Errors: kInvalidArgument with the modes that exist.
absl::StatusOr<planner::StoreShape> ParseWriteMode(absl::string_view mode);

}  // namespace weir::master
