#pragma once

// The parts of CheckEdit about what is still to happen: what steps read, whether it can, and when
// it ends. Upstream: CheckEdit.

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

/// Checks that every step of `before` that waits in `is` reads in `after` what it read before,
/// once: the same places (Section::indexes) of the same ranges of the job's input and of the same
/// other runs. Of a step that combines they stand in the same order, but for parts of input that
/// follow each other. Sizes stay, but of what is cut by places, where each part is no larger than
/// the whole. Requires: sections name steps that exist. Errors: kInvalidArgument naming the step.
/// Thread-safety: pure. O(sections log).
absl::Status CheckOperands(const Plan& before, const Plan& after, const PlanState& is);

}  // namespace weir::planner
