#pragma once

// Prediction event by event, for plans whose graph alone does not say when everything begins.
// Upstream: Predict. Downstream: rate_room, rate_allocation.

#include "planner/plan/plan.h"
#include "planner/plan/plan_graph.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {

/// Returns how long a step or transfer lasts once it has begun.
Seconds NodeSeconds(const Plan& plan, const PlanGraph& graph, NodeIndex node);

/// Returns start and finish of every step and transfer (no critical path, no idle times).
///
/// Model: as the conductor does it. A worker runs one step at a time, and of two that are ready
///   when it falls free the first in compute_order goes first. A transfer of a kRates plan begins
///   when its run is there and its ports and cuts have its rate left (rate_room.h; all are
///   expected), or, where rates change over time, gets one as rate_allocation.h says, at once;
///   others when what they wait for in the graph is over. All that happens at one moment happens
///   before anything begins then.
/// Requires: CheckStructure(plan) is OK; `graph` is its kDataAndOrders graph, of a kRates plan its
///   kDataAndStore graph. Not for kFetchAll, whose transfers share what there is.
/// Thread-safety: pure; same input, same bits. O((steps + transfers) log) time; of a kRates plan,
///   each transfer that waits for a port or cut once more for each that ends there; where rates
///   change over time, all under way once for each that ends, and as RateAllocation says for each
///   moment at which some become ready.
/// Checked by: tests/unit/planner_plan/predict_test.cc,
///   tests/unit/planner_job/rates_property_test.cc, rates_over_time_property_test.cc, and against
///   the conductor in tests/unit/master/conductor_machine_property_test.cc.
Prediction PredictInTime(const Plan& plan, const PlanGraph& graph);

}  // namespace weir::planner
