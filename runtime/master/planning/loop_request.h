#pragma once

// What the planner is told of a job that is a loop. Upstream: Planning. Downstream: JobShape.

#include <optional>

#include "absl/status/statusor.h"
#include "jobs/api/job_definition.h"
#include "planner/job/loop_shape.h"
#include "runtime/master/options/master_options.h"
#include "weir/v1/job.pb.h"

namespace weir::master {

/// Returns the loop that this job is with these parameters; nothing where it is none.
/// Errors: kInvalidArgument naming a parameter.
absl::StatusOr<std::optional<planner::LoopShape>> LoopOf(const v1::JobSpec& spec,
                                                         const JobDefinition& job,
                                                         const MasterOptions& options);

}  // namespace weir::master
