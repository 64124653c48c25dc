#pragma once

// The part of CheckEdit about what is still to happen: whether it can, and when it ends. Upstream:
// CheckEdit.

#include "absl/status/status.h"
#include "planner/edit/plan_state.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Checks that what is under way stands before what waits on every worker, port, lane and channel;
/// that the rest passes the rules of CheckPlan about structure, orders and times; and that the
/// planned times, in seconds since the start of the run, are those that Predict finds of the rest.
/// Requires: CheckState is OK; steps that transfers name exist.
/// Errors: kInvalidArgument naming the item. Thread-safety: pure.
/// Checked by: tests/unit/planner_edit/check_edit_test.cc.
absl::Status CheckRest(const Plan& plan, const PlanState& state);

}  // namespace weir::planner
