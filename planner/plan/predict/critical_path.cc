#include "planner/plan/predict/critical_path.h"

#include <algorithm>

namespace weir::planner {
namespace {

const Interval& IntervalOf(const PlanGraph& graph, const Prediction& prediction, NodeIndex node) {
  const auto item = static_cast<std::size_t>(graph.ItemOf(node));
  return graph.IsTransfer(node) ? prediction.transfers[item] : prediction.steps[item];
}

// The step of the same worker, of the other order, that ended when `step` began; kNoIndex where
// none did.
StepIndex TurnBefore(const Plan& plan, const Prediction& prediction, StepIndex step,
                     Seconds tolerance_s) {
  const auto at = static_cast<std::size_t>(step);
  const Seconds start_s = prediction.steps[at].start_s;
  for (const StepIndex other :
       plan.compute_order[static_cast<std::size_t>(plan.steps[at].worker)]) {
    const Interval& turn = prediction.steps[static_cast<std::size_t>(other)];
    const bool takes_turns = plan.steps[static_cast<std::size_t>(other)].kind->own_order !=
                             plan.steps[at].kind->own_order;
    if (!takes_turns || turn.start_s >= start_s) continue;
    if (turn.finish_s >= start_s - tolerance_s && turn.finish_s <= start_s + tolerance_s) {
      return other;
    }
  }
  return kNoIndex;
}

}  // namespace

std::vector<Prediction::CriticalItem> CriticalPath(const Plan& plan, const PlanGraph& graph,
                                                   const Prediction& prediction) {
  const NodeIndex num_nodes = graph.num_nodes();
  std::vector<NodeIndex> waited_for(static_cast<std::size_t>(num_nodes), kNoIndex);
  NodeIndex last = kNoIndex;
  for (NodeIndex node = 0; node < num_nodes; ++node) {
    const Seconds finish_s = IntervalOf(graph, prediction, node).finish_s;
    if (last == kNoIndex && finish_s >= prediction.makespan_s) last = node;
    for (const NodeIndex next : graph.Successors(node)) {
      NodeIndex& best = waited_for[static_cast<std::size_t>(next)];
      if (best == kNoIndex || finish_s > IntervalOf(graph, prediction, best).finish_s) best = node;
    }
  }
  // Rounding of a fluid prediction must not cut the chain.
  const Seconds tolerance_s = 1e-9 * prediction.makespan_s;
  std::vector<Prediction::CriticalItem> path;
  while (last != kNoIndex) {
    path.push_back({graph.IsTransfer(last), graph.ItemOf(last)});
    NodeIndex before = waited_for[static_cast<std::size_t>(last)];
    const bool later =
        before == kNoIndex || IntervalOf(graph, prediction, before).finish_s + tolerance_s <
                                  IntervalOf(graph, prediction, last).start_s;
    if (later && graph.IsTransfer(last)) break;
    if (later) before = TurnBefore(plan, prediction, graph.ItemOf(last), tolerance_s);
    last = before;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<Seconds> IdleSeconds(const Plan& plan, const Prediction& prediction) {
  std::vector<std::vector<Interval>> busy(static_cast<std::size_t>(plan.network.num_workers));
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    busy[static_cast<std::size_t>(plan.steps[i].worker)].push_back(prediction.steps[i]);
  }
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    busy[static_cast<std::size_t>(plan.transfers[i].sender)].push_back(prediction.transfers[i]);
    busy[static_cast<std::size_t>(plan.transfers[i].receiver)].push_back(prediction.transfers[i]);
  }
  std::vector<Seconds> idle_s;
  idle_s.reserve(busy.size());
  for (std::vector<Interval>& intervals : busy) {
    std::sort(intervals.begin(), intervals.end(),
              [](const Interval& a, const Interval& b) { return a.start_s < b.start_s; });
    Seconds idle = 0;
    Seconds covered_until_s = 0;
    for (const Interval& interval : intervals) {
      idle += std::max(0.0, interval.start_s - covered_until_s);
      covered_until_s = std::max(covered_until_s, interval.finish_s);
    }
    idle_s.push_back(idle + std::max(0.0, prediction.makespan_s - covered_until_s));
  }
  return idle_s;
}

}  // namespace weir::planner
