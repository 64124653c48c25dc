#pragma once

// Writes the messages of a timed reduction into a plan.
// Upstream: tree_plan. Downstream: Plan.

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "planner/plan/plan.h"
#include "planner/tree/hosts/host_times.h"
#include "planner/tree/hosts/message_runs.h"
#include "planner/tree/model/schedule.h"
#include "planner/tree/write/tree_plan.h"

namespace weir::planner::tree {

/// How the places of an element lie in the segments of a schedule.
struct ElementPlaces {
  /// Places up to the end of each segment.
  std::vector<std::int64_t> segment_end;
  Bytes place_bytes = 1;
};

/// Returns the number for the plan's next combine step of this layer: they are numbered on from
/// those it has.
std::int32_t NextCombineIndex(const Plan& plan, std::int32_t layer);

/// Adds steps, transfers and sections as tree_plan.h says, timed by options.times or TimeOnHosts,
/// and begin_s later. Returns: the steps that hold the result, one per run, or one where they are
/// joined. Requires: what AppendReduction has checked.
std::vector<StepIndex> WriteReduction(const Schedule& schedule, const RunList& runs,
                                      const ReductionHosts& hosts, const ElementPlaces& places,
                                      Seconds begin_s, absl::Span<const StepIndex> elements,
                                      const ReductionOptions& options, Plan* plan);

}  // namespace weir::planner::tree
