#pragma once

// Pictures of one instance of a file: what `weir planner tree --instance FILE.json --gantt
// FILE.svg` writes. Upstream: command line. Downstream: schedule builders, tree_drawing.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "planner/tree/schedule.h"

namespace weir::planner::tree {

/// Builds the schedule that an instance's algorithm gives. `id` names the instance; empty takes the
/// first one whose algorithm has a schedule (lengths, counts and enumerations have none).
///
/// Errors: kInvalidArgument naming instance and field as SolveInstancesJson; kNotFound when no
///   instance has that id, or none has a schedule; trees above kPictureMachinesMax are refused.
absl::StatusOr<Schedule> InstanceSchedule(std::string_view json_text, std::string_view id);

/// Largest number of machines that is drawn.
inline constexpr std::int64_t kPictureMachinesMax = 2000;

/// Returns the Gantt of InstanceSchedule. Errors: the same.
absl::StatusOr<std::string> InstanceGanttSvg(std::string_view json_text, std::string_view id);

/// Returns the drawing of the tree of the first segment. Errors: the same.
absl::StatusOr<std::string> InstanceTreeSvg(std::string_view json_text, std::string_view id);

}  // namespace weir::planner::tree
