#pragma once

// Prediction of plans without an order: every receiver fetches from all senders at once.
// Upstream: Predict. Downstream: fair_sharing.

#include "planner/plan/plan.h"
#include "planner/plan/plan_graph.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {

/// Returns start and finish of every step and transfer (no critical path, no idle times).
///
/// Model: a transfer starts when its producer has finished, waits the network's latency, and then
///   flows at its max-min fair share of the ports (1 / (C * slow-down) bytes per second each way)
///   and of the cuts it crosses (channels / C), times the network's sharing_fraction and
///   CutSharing. Steps follow the compute order. With a fetch_limit, a receiver begins the first
///   ready transfers of its receive order, whenever fewer than that many are under way.
/// Requires: CheckStructure(plan) is OK; `graph` is its kDataOnly graph.
/// Bounds: exact up to about 3000 transfers. Above that, events closer together than (transfers /
///   3e7) of the busiest port's or cut's time are taken together, at the later end: the prediction
///   errs to the long side, by 3 % of that time for 1e6 transfers at each release, and takes
///   seconds instead of hours.
/// Thread-safety: pure; same input, same bits.
/// Checked by: tests/unit/planner_plan/predict_test.cc,
///   tests/unit/planner_job/plan_job_property_test.cc.
Prediction PredictFetchAll(const Plan& plan, const PlanGraph& graph);

}  // namespace weir::planner
