// Upstream: a plan, whoever built it. Downstream: plan_graph, fetch_all, critical_path.

#include "planner/plan/predict/predict.h"

#include <algorithm>
#include <vector>

#include "planner/plan/plan_graph.h"
#include "planner/plan/plan_structure.h"
#include "planner/plan/predict/critical_path.h"
#include "planner/plan/predict/fetch_all.h"
#include "planner/plan/predict/in_time.h"

namespace weir::planner {
namespace {

// Earliest start of every node of an acyclic graph, in one pass: whoever is first in topological
// order has all the finishes it waits for.
Prediction PredictOrdered(const Plan& plan, const PlanGraph& graph) {
  Prediction times;
  times.steps.resize(plan.steps.size());
  times.transfers.resize(plan.transfers.size());
  std::vector<Seconds> earliest_s(static_cast<std::size_t>(graph.num_nodes()), 0);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) earliest_s[i] = plan.steps[i].release_s;
  for (const NodeIndex node : graph.topological_order()) {
    const Seconds start_s = earliest_s[static_cast<std::size_t>(node)];
    const Seconds finish_s = start_s + NodeSeconds(plan, graph, node);
    const auto item = static_cast<std::size_t>(graph.ItemOf(node));
    (graph.IsTransfer(node) ? times.transfers[item] : times.steps[item]) = {start_s, finish_s};
    times.makespan_s = std::max(times.makespan_s, finish_s);
    for (const NodeIndex next : graph.Successors(node)) {
      Seconds& next_earliest_s = earliest_s[static_cast<std::size_t>(next)];
      next_earliest_s = std::max(next_earliest_s, finish_s);
    }
  }
  return times;
}

/// Whether some worker has steps of both orders: those then take turns.
bool TakesTurns(const Plan& plan) {
  for (const std::vector<StepIndex>& order : plan.compute_order) {
    const auto own = [&](StepIndex step) {
      return plan.steps[static_cast<std::size_t>(step)].kind->own_order;
    };
    if (std::any_of(order.begin(), order.end(), own) &&
        !std::all_of(order.begin(), order.end(), own)) {
      return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<Prediction> Predict(const Plan& plan) {
  if (absl::Status status = CheckStructure(plan); !status.ok()) return status;
  const bool ordered = IsOrdered(plan.transfer_order);
  const absl::StatusOr<PlanGraph> graph =
      PlanGraph::Build(plan, ordered ? GraphRules::kDataAndOrders : GraphRules::kDataAndStore);
  if (!graph.ok()) return graph.status();
  Prediction prediction;
  if (plan.transfer_order == TransferOrder::kFetchAll) {
    prediction = PredictFetchAll(plan, *graph);
  } else if (!ordered || TakesTurns(plan)) {
    prediction = PredictInTime(plan, *graph);
  } else {
    prediction = PredictOrdered(plan, *graph);
  }
  prediction.critical_path = CriticalPath(plan, *graph, prediction);
  prediction.idle_s = IdleSeconds(plan, prediction);
  return prediction;
}

}  // namespace weir::planner
