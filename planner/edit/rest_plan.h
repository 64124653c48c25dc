#pragma once

// What is left of a plan as a plan of its own, ordered by the ordinary builders. Upstream:
// EditPlan. Downstream: CheckEdit, Predict.

#include <vector>

#include "planner/edit/plan_state.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// The rest of a plan that has begun. Plain data.
struct RestPlan {
  Plan plan;
  std::vector<TransferIndex> transfer_of;  // by transfer of `plan`: its index in the whole plan
};

/// Returns what is left of a plan: time 0 is state.now_s.
///
/// Model: the same steps under the same numbers. Those that are done take no time and wait for
///   nothing: givers of their runs. Those under way last as long as they still need, as predicted,
///   and wait for nothing. Transfers that are done are left out; those under way come first, with
///   as many bytes as still take the time that they need. So ports, lanes, workers and the store
///   are held by what is under way, and Predict says when the rest ends. Sections are those of the
///   whole plan: CheckLoads, which follows all bytes from the input on, does not hold of a rest.
/// Requires: CheckState is OK. Thread-safety: pure. O(steps + transfers * cuts).
RestPlan RestOf(const Plan& plan, const PlanState& state);

}  // namespace weir::planner
