#pragma once

// Adds port orders, channel orders and times to a plan that has steps, sections and transfers.
// Upstream: PlanAssembly, or a tree builder's own steps and transfers. Downstream: CheckPlan, which
// accepts the result.
//
// Builders choose one of three: they know only a priority (OrderByPriority), they know when each
// transfer should start (OrderByStart), or the receivers fetch from everybody at once
// (OrderFetchAll). A fourth gives rates (order_by_rates.h). All end in AdoptPrediction, so the
// planned times are those that the orders lead to, with whole bytes and the network's latency in
// them.

#include "absl/status/status.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Orders transfers by list scheduling: whenever a port or lane falls free or a run is
/// published, starts every transfer that can start, lowest index in plan->transfers first.
///
/// Model: as NetworkModel says; steps start as soon as they can, in compute_order. No transfer
///   waits while its run, both ports and the lanes that it takes of each cut are there, so the
///   network is never idle without need.
/// Requires: plan->network, steps, sections, transfers and compute_order are filled; keeps
///   transfer_order.
/// Errors: kInvalidArgument when the plan breaks CheckStructure or its precedence has a cycle.
/// Thread-safety: pure; ties by index.
/// Time: about O(transfers * (log + receivers skipped)); 1e6 transfers in seconds.
/// Source: R. L. Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17(2),
///   1969 (list rule).
/// Checked by: tests/unit/planner_plan/transfer_orders_test.cc,
///   tests/unit/planner_job/plan_job_property_test.cc.
absl::Status OrderByPriority(Plan* plan);

/// Orders transfers by the start_s that the builder wrote into them.
///
/// Each port serves its transfers by wanted start (ties by index). In each cut, a transfer goes to
/// the lanes that its predecessors, lasting as the network model says, leave first; so a schedule
/// that keeps the limit by its wanted times is kept, and one that breaks it is stretched, not
/// refused. Steps of a worker are ordered by start_s, layer and index when compute_order is empty;
/// otherwise compute_order stays.
/// Requires: plan->network, steps, sections, transfers (start_s wanted) are filled.
/// Errors: kInvalidArgument when the plan breaks CheckStructure, or when the wanted starts
///   contradict precedence so that the orders have a cycle.
/// Thread-safety: pure. O((steps + transfers * cuts) log) time.
/// Checked by: tests/unit/planner_plan/transfer_orders_test.cc.
absl::Status OrderByStart(Plan* plan);

/// Fills the port lists of a plan without an order, which only say who takes part, empties its
/// lists of lanes, and clears summary.lower_bound_s.
/// Requires: indices are in range.
void ListUnordered(Plan* plan);

/// Makes the plan a kFetchAll plan: no order, no lanes, shared ports and cuts. Each receiver
/// fetches everything at once, or at most `fetch_limit` > 0 transfers, lowest index first. Clears
/// summary.lower_bound_s, because a bound for ordered transfers need not hold (those that share a
/// cut are not paced, wait together instead of one by one, and take no more than their rate).
/// Requires: plan->network, steps, sections, transfers and compute_order are filled.
/// Errors: kInvalidArgument when the plan breaks CheckStructure or its precedence has a cycle.
absl::Status OrderFetchAll(Plan* plan, std::int32_t fetch_limit = 0);

/// Writes the predicted times of the plan into it: start of every step and transfer, duration of
/// every transfer, summary.makespan_s.
/// Errors: those of Predict.
absl::Status AdoptPrediction(Plan* plan);

}  // namespace weir::planner
