#pragma once

// Whether an edit is right, independent of who made it. Upstream: tests, and the conductor before
// it goes on with an edit.

#include "absl/status/status.h"
#include "planner/edit/edit_plan.h"
#include "planner/edit/plan_state.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Checks that `edit` goes on from `before` as it stood at `state`, without the lost workers.
///
/// - Numbers: every step before is there under its number, with its kind, place in its layer and
///   keys; appended ones read input. Workers are those of the plan, then those that are added. What
///   is done or under way and not made again is where it was.
/// - Counts: the input ranges of steps that are no reruns (ComputeStep::is_rerun) tile what they
///   tiled before, so that every byte of the input is counted once; a rerun stays one.
/// - Bytes: each step that has to begin has the sections that it had, place by place, the input
///   ranges of those that read input covering what they covered before, and operands of a combine
///   step in the order that they had (check_rest.h); the transfers of a section tile it, or it
///   is read in place. Pieces that count as arrived did arrive, there, and all of one run.
/// - Survivors: no step that has to run, no transfer that has to move and no run that is still read
///   is on a lost worker, and every run that is read in place or moves is there or will be made.
/// - Places: steps that may not stay leave; closed workers get nothing that they had not.
/// - Nothing without need: a step is made again only if somebody lacks a section of it and its run
///   is gone, or if it was under way on a slow worker; what arrived stays arrived; what is under
///   way between survivors goes on, but for what moves to a step that is made elsewhere.
/// - Feasible: the rest (RestOf) passes the rules of CheckPlan about structure, orders and times,
///   what is under way stands before what waits on every port, lane and channel, and the planned
///   times are those that Predict finds of the rest.
///
/// Requires: nothing of `edit`. Errors: kInvalidArgument naming the rule and the step or transfer.
/// Thread-safety: pure. O((steps + sections + transfers) log).
/// Checked by: tests/unit/planner_edit/check_edit_test.cc.
absl::Status CheckEdit(const Plan& before, const PlanState& state, const PlanChange& change,
                       const PlanEdit& edit);

}  // namespace weir::planner
