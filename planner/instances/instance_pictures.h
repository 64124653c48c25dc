#pragma once

// Pictures and plans of one instance of a file: what `weir planner tree --instance FILE.json
// --gantt FILE.svg --plan FILE.json` writes. Upstream: command line. Downstream: solvers,
// tree_drawing, collective.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "planner/plan/plan.h"
#include "planner/tree/write/collective.h"

namespace weir::planner::tree {

/// Builds what an instance's algorithm plans. `id` names the instance; empty takes the first one
/// whose algorithm has a schedule (lengths, counts and single machines have none).
///
/// Errors: kInvalidArgument naming instance and field as SolveInstancesJson; kNotFound when no
///   instance has that id, or none has a schedule.
absl::StatusOr<Collective> InstanceCollective(std::string_view json_text, std::string_view id);

/// Largest number of machines that is drawn.
inline constexpr std::int64_t kPictureMachinesMax = 2000;

/// Returns the Gantt of InstanceCollective. Errors: the same; collectives above kPictureMachinesMax
/// are refused.
absl::StatusOr<std::string> InstanceGanttSvg(std::string_view json_text, std::string_view id);

/// Returns the drawing of the tree of the first segment (of a broadcast: who informs whom). Errors:
/// the same.
absl::StatusOr<std::string> InstanceTreeSvg(std::string_view json_text, std::string_view id);

/// Returns InstanceCollective as a plan that CheckPlan takes, predicted as long as it was planned
/// (CollectivePlan). Errors: those of both.
absl::StatusOr<Plan> InstancePlan(std::string_view json_text, std::string_view id);

}  // namespace weir::planner::tree
