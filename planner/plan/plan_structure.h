#pragma once

// The first rules of CheckPlan: a plan whose indices can be followed without looking outside it.
// Upstream: CheckPlan, Predict and whoever takes a plan from outside. Downstream: plan_graph,
// plan_loads, plan_times.

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Makes kInvalidArgument of the parts of one sentence: what checks of plans find.
template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

/// Checks the part of CheckStructure that needs no transfer orders: network, items, dependencies,
/// and compute_order unless it is empty. For builders, before they order transfers. Errors and time
/// as CheckStructure.
absl::Status CheckItems(const Plan& plan);

/// Checks that the network is valid, that indices, sizes and durations are in range, that
/// dependencies agree in both directions, and that every step and transfer stands in exactly the
/// order lists it belongs to.
///
/// Errors: kInvalidArgument naming the rule, the step or transfer, and the values that disagree.
/// Thread-safety: pure. O(steps + transfers + sections) time.
/// Checked by: tests/unit/planner_plan/check_plan_test.cc.
absl::Status CheckStructure(const Plan& plan);

}  // namespace weir::planner
