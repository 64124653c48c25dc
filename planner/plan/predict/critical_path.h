#pragma once

// Why a plan takes as long as it takes, and who sits idle meanwhile.
// Upstream: Predict, once every start and finish is known. Downstream: Explain.

#include <vector>

#include "planner/plan/plan.h"
#include "planner/plan/plan_graph.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {

/// Returns the chain of steps and transfers that ends last: each item waited for the one before it.
///
/// The chain ends at the first item (steps before transfers, lowest index) that finishes at the
/// makespan and goes back through whatever each item waited for last, ties to the lowest node; it
/// stops where an item started later than all it waited for finished (its release date held it). A
/// step that waited for its turn goes on with the step of its worker that ended then.
/// Requires: `graph` is the graph that the times in `prediction` came from.
/// Thread-safety: pure. O(nodes + edges) time.
std::vector<Prediction::CriticalItem> CriticalPath(const Plan& plan, const PlanGraph& graph,
                                                   const Prediction& prediction);

/// Returns, by worker, the seconds of [0, makespan] in which it neither computes nor sends nor
/// receives.
/// Thread-safety: pure. O((steps + transfers) log) time.
std::vector<Seconds> IdleSeconds(const Plan& plan, const Prediction& prediction);

}  // namespace weir::planner
