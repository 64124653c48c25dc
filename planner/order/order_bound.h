#pragma once

// What no order of a plan's transfers can beat.
// Upstream: a plan with steps and transfers. Downstream: builders (summary.lower_bound_s), tests.

#include "absl/status/statusor.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Returns a lower bound on the makespan of every schedule of the same steps (on the same workers,
/// in the same compute order) and the same transfers, whatever the orders of ports, channels and
/// store.
///
/// Model: each item i has a head r_i (nothing lets it start earlier), a time p_i and a tail q_i
///   (what must still follow it). On a resource that serves c items at once (a worker or a port: c
///   = 1; a cut or the store: c = channels), every set of items needs min r + sum w p / c + min q;
///   w_i is the part of a channel that i takes of a cut (CutLanes), 1 elsewhere. The bound is the
///   largest of these over the sets {i : r_i >= r} of every resource. Heads of consumers take their
///   receive port into account in the same way. In plans without an order w_i p_i is the time of
///   the bytes at the resource's full rate (kRates: times the pacing fraction, and over what its
///   pair lags, as a paced transfer keeps its rate for as much longer), without latency; in chains
///   each has its start (StartSeconds) too. In others a slow port moves one transfer at a
///   time, and beside it a cut has room for c - 1 at full rate: so the same holds of each cut with
///   w = 1 for what is at full rate and for the transfers of its busiest slow port, 0 for others.
/// Source: J. Carlier, "The one-machine sequencing problem", EJOR 11(1), 1982 (heads and tails).
///   Proven: each set's term is a volume argument.
/// Errors: those of CheckStructure without transfer orders; kInvalidArgument when the precedence
///   has a cycle.
/// Thread-safety: pure. O((steps + transfers * cuts) log) time.
/// Checked by: tests/unit/planner_plan/order_bound_test.cc,
///   tests/unit/planner_job/plan_job_property_test.cc.
absl::StatusOr<Seconds> OrderBound(const Plan& plan);

}  // namespace weir::planner
