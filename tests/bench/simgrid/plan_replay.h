#pragma once

// Carries out a plan on SimGrid's hosts, message by message.
// Upstream: planner/tree/tree_plan (ReductionPlan). Downstream: reduction_judge.

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/plan/plan.h"
#include "simgrid/forward.h"

namespace weir::bench {

/// Runs the plan and returns how long it took, in simulated seconds.
///
/// Model: every transfer is a flow between two hosts and every step an execution on its worker's
///   host; each starts when all that it waits for in the plan has ended: what it reads, and those
///   before it on its ports, lanes and worker (strict order). How long a flow takes, SimGrid says.
/// Requires: hosts[i] carries out worker i; called from outside of actors. Several plans may run
/// one
///   after another in one engine.
/// Errors: kUnimplemented for release dates, limited stores and plans without an order;
///   kInvalidArgument when the orders have a cycle; kInternal when SimGrid ended before the plan.
/// Thread-safety: the engine is the process's only one: one thread.
/// Checked by: tests/bench/simgrid/simgrid_replay_test.cc.
absl::StatusOr<planner::Seconds> ReplayPlan(const planner::Plan& plan,
                                            absl::Span<simgrid::s4u::Host* const> hosts);

}  // namespace weir::bench
