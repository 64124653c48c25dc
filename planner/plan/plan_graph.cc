#include "planner/plan/plan_graph.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace weir::planner {
namespace {

// Combine steps only wait for each other; all other steps of a worker run one at a time
// (ComputeStep).
template <typename Visit>
void VisitComputeOrder(const Plan& plan, Visit visit) {
  for (const std::vector<StepIndex>& order : plan.compute_order) {
    StepIndex last_combine = kNoIndex;
    StepIndex last_other = kNoIndex;
    for (const StepIndex step : order) {
      const bool combines = plan.steps[static_cast<std::size_t>(step)].kind->own_order;
      StepIndex& last = combines ? last_combine : last_other;
      if (last != kNoIndex) visit(last, step);
      last = step;
    }
  }
}

template <typename Visit>
void VisitTransferOrder(const std::vector<std::vector<TransferIndex>>& lists,
                        std::int32_t num_steps, Visit visit) {
  for (const std::vector<TransferIndex>& order : lists) {
    for (std::size_t i = 1; i < order.size(); ++i) {
      visit(num_steps + order[i - 1], num_steps + order[i]);
    }
  }
}

// Calls visit(u, v) for every edge, in the same sequence each time.
template <typename Visit>
void VisitEdges(const Plan& plan, GraphRules rules, Visit visit) {
  const auto num_steps = static_cast<std::int32_t>(plan.steps.size());
  for (StepIndex step = 0; step < num_steps; ++step) {
    for (const StepIndex before : plan.steps[static_cast<std::size_t>(step)].after_steps) {
      visit(before, step);
    }
  }
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const NodeIndex node = num_steps + static_cast<std::int32_t>(i);
    visit(plan.transfers[i].producer, node);
    visit(node, plan.transfers[i].consumer);
  }
  VisitComputeOrder(plan, visit);
  if (rules == GraphRules::kDataOnly) return;
  for (const std::vector<StepIndex>& order : plan.store_order) {
    for (std::size_t i = 1; i < order.size(); ++i) visit(order[i - 1], order[i]);
  }
  if (rules == GraphRules::kDataAndStore) return;
  VisitTransferOrder(plan.send_order, num_steps, visit);
  VisitTransferOrder(plan.receive_order, num_steps, visit);
  for (const auto& channels : plan.channel_order) VisitTransferOrder(channels, num_steps, visit);
}

}  // namespace

absl::Span<const NodeIndex> PlanGraph::Successors(NodeIndex node) const {
  const auto begin = static_cast<std::size_t>(edge_begin_[static_cast<std::size_t>(node)]);
  const auto end = static_cast<std::size_t>(edge_begin_[static_cast<std::size_t>(node) + 1]);
  return absl::MakeConstSpan(edge_to_).subspan(begin, end - begin);
}

absl::StatusOr<PlanGraph> PlanGraph::Build(const Plan& plan, GraphRules rules) {
  const std::size_t num_nodes = plan.steps.size() + plan.transfers.size();
  PlanGraph graph;
  graph.num_steps_ = static_cast<std::int32_t>(plan.steps.size());
  graph.edge_begin_.assign(num_nodes + 1, 0);
  std::vector<std::int32_t> waits(num_nodes, 0);
  VisitEdges(plan, rules, [&](NodeIndex from, NodeIndex to) {
    ++graph.edge_begin_[static_cast<std::size_t>(from) + 1];
    ++waits[static_cast<std::size_t>(to)];
  });
  for (std::size_t node = 0; node < num_nodes; ++node) {
    graph.edge_begin_[node + 1] += graph.edge_begin_[node];
  }
  graph.edge_to_.resize(static_cast<std::size_t>(graph.edge_begin_[num_nodes]));
  std::vector<std::int64_t> fill(graph.edge_begin_.begin(), graph.edge_begin_.end() - 1);
  VisitEdges(plan, rules, [&](NodeIndex from, NodeIndex to) {
    graph.edge_to_[static_cast<std::size_t>(fill[static_cast<std::size_t>(from)]++)] = to;
  });

  // Kahn's algorithm; the order vector doubles as the queue.
  std::vector<NodeIndex>& order = graph.topological_order_;
  order.reserve(num_nodes);
  for (std::size_t node = 0; node < num_nodes; ++node) {
    if (waits[node] == 0) order.push_back(static_cast<NodeIndex>(node));
  }
  for (std::size_t head = 0; head < order.size(); ++head) {
    for (const NodeIndex next : graph.Successors(order[head])) {
      if (--waits[static_cast<std::size_t>(next)] == 0) order.push_back(next);
    }
  }
  if (order.size() == num_nodes) return graph;
  for (std::size_t node = 0; node < num_nodes; ++node) {
    if (waits[node] == 0) continue;
    const auto stuck = static_cast<NodeIndex>(node);
    return absl::InvalidArgumentError(absl::StrCat(
        "Precedence and orders have a cycle: ", graph.IsTransfer(stuck) ? "transfer " : "step ",
        graph.ItemOf(stuck), " can never start; ", num_nodes - order.size(), " of ", num_nodes,
        " steps and transfers are stuck"));
  }
  return absl::InternalError("Plan graph counts its nodes wrongly");
}

}  // namespace weir::planner
