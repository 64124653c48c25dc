#pragma once

// The rules of CheckPlan about the planned times.
// Upstream: CheckPlan, after CheckStructure.

#include "absl/status/status.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Checks that the planned start times are feasible: nothing starts before its release, before a
/// step or transfer it waits for, or while its worker, one of its ports or one of its lanes serves
/// another; that a transfer lasts what the network model says; and that summary.makespan_s is the
/// last finish and not below summary.lower_bound_s.
///
/// Model: each order list is walked; an item starts no earlier than the one before it finishes. As
///   each cut has no more lists than lanes and each crossing transfer stands in as many as it takes
///   (cut_lanes.h), no cut can carry more than its channels. In kFetchAll plans transfers share
///   ports and cuts: their orders are not held against the times, a transfer lasts at least what
///   the network model says, and each port and cut by itself can carry, at its whole rate, all that
///   moves through it, every transfer's bytes between the end of its latency and its own end.
///   Whether one division of all rates serves all of them together is not asked. In kRates plans
///   each lasts what its rate says, and their rates never add up to more than a port or cut carries
///   (NetworkModel::PacedBytesPerS).
/// Requires: CheckStructure(plan) is OK.
/// Errors: kInvalidArgument naming the rule, the step or transfer, and the two times that disagree
///   (tolerance: 1e-9 of the makespan).
/// Thread-safety: pure. O(steps + dependencies + transfers * cuts) time; without an order a log of
///   the transfers more.
/// Checked by: tests/unit/planner_plan/check_plan_test.cc.
absl::Status CheckTimes(const Plan& plan);

}  // namespace weir::planner
