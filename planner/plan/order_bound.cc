#include "planner/plan/order_bound.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "planner/plan/plan_graph.h"
#include "planner/plan/plan_structure.h"

namespace weir::planner {
namespace {

// An item on a resource: head, time on the resource, tail. Seconds.
struct Demand {
  Seconds head_s = 0;
  Seconds time_s = 0;
  Seconds tail_s = 0;
};

// Largest of  min head + sum time / servers + min tail  over the sets of latest heads.
Seconds ResourceBound(std::vector<Demand>* demands, double servers) {
  std::sort(demands->begin(), demands->end(),
            [](const Demand& a, const Demand& b) { return a.head_s > b.head_s; });
  Seconds bound_s = 0;
  Seconds time_s = 0;
  Seconds tail_s = std::numeric_limits<double>::infinity();
  for (const Demand& demand : *demands) {
    time_s += demand.time_s;
    tail_s = std::min(tail_s, demand.tail_s);
    bound_s = std::max(bound_s, demand.head_s + time_s / servers + tail_s);
  }
  return bound_s;
}

class HeadsAndTails {
 public:
  HeadsAndTails(const Plan& plan, const PlanGraph& graph) : plan_(plan), graph_(graph) {
    const auto num_nodes = static_cast<std::size_t>(graph.num_nodes());
    head_s_.assign(num_nodes, 0);
    tail_s_.assign(num_nodes, 0);
    const std::vector<NodeIndex>& order = graph.topological_order();
    for (const NodeIndex node : order) ComputeHead(node);
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      Seconds& tail_s = tail_s_[static_cast<std::size_t>(*node)];
      for (const NodeIndex next : graph.Successors(*node)) {
        tail_s = std::max(tail_s, LastsSeconds(next) + tail_s_[static_cast<std::size_t>(next)]);
      }
    }
  }

  Demand DemandOf(NodeIndex node, Seconds time_s) const {
    return {head_s_[static_cast<std::size_t>(node)], time_s,
            tail_s_[static_cast<std::size_t>(node)]};
  }

  // Head, own time and tail of the item that these add up to most for.
  Seconds LongestChain() const {
    Seconds longest_s = 0;
    for (NodeIndex node = 0; node < graph_.num_nodes(); ++node) {
      const Demand demand = DemandOf(node, LastsSeconds(node));
      longest_s = std::max(longest_s, demand.head_s + demand.time_s + demand.tail_s);
    }
    return longest_s;
  }

  // Time of a transfer on one of its resources, whose full-rate cost is seconds_per_byte.
  Seconds TransferTimeOn(const Transfer& transfer, double seconds_per_byte) const {
    if (plan_.transfer_order == TransferOrder::kFetchAll) {
      return static_cast<double>(transfer.bytes) * seconds_per_byte;
    }
    return plan_.network.TransferSeconds(transfer.sender, transfer.receiver, transfer.bytes);
  }

 private:
  Seconds LastsSeconds(NodeIndex node) const {
    const auto item = static_cast<std::size_t>(graph_.ItemOf(node));
    if (!graph_.IsTransfer(node)) return plan_.steps[item].duration_s;
    const Transfer& transfer = plan_.transfers[item];
    return plan_.network.TransferSeconds(transfer.sender, transfer.receiver, transfer.bytes);
  }

  void ComputeHead(NodeIndex node) {
    Seconds& head_s = head_s_[static_cast<std::size_t>(node)];
    if (!graph_.IsTransfer(node)) {
      const ComputeStep& step = plan_.steps[static_cast<std::size_t>(node)];
      head_s = std::max(head_s, step.release_s);
      // All it waits for must come through one receive port.
      const double port_cost = plan_.network.SecondsPerByte(step.worker, step.worker);
      std::vector<Demand> arrivals;
      for (const TransferIndex index : step.after_transfers) {
        const Transfer& transfer = plan_.transfers[static_cast<std::size_t>(index)];
        arrivals.push_back({head_s_[static_cast<std::size_t>(graph_.NodeOfTransfer(index))],
                            TransferTimeOn(transfer, port_cost), 0});
      }
      head_s = std::max(head_s, ResourceBound(&arrivals, 1));
    }
    const Seconds finish_s = head_s + LastsSeconds(node);
    for (const NodeIndex next : graph_.Successors(node)) {
      Seconds& next_head_s = head_s_[static_cast<std::size_t>(next)];
      next_head_s = std::max(next_head_s, finish_s);
    }
  }

  const Plan& plan_;
  const PlanGraph& graph_;
  std::vector<Seconds> head_s_;
  std::vector<Seconds> tail_s_;
};

Seconds PortsBound(const Plan& plan, const PlanGraph& graph, const HeadsAndTails& items) {
  const auto num_workers = static_cast<std::size_t>(plan.network.num_workers);
  std::vector<std::vector<Demand>> sends(num_workers);
  std::vector<std::vector<Demand>> receives(num_workers);
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer& transfer = plan.transfers[i];
    const NodeIndex node = graph.NodeOfTransfer(static_cast<TransferIndex>(i));
    const double send_cost = plan.network.SecondsPerByte(transfer.sender, transfer.sender);
    const double receive_cost = plan.network.SecondsPerByte(transfer.receiver, transfer.receiver);
    sends[static_cast<std::size_t>(transfer.sender)].push_back(
        items.DemandOf(node, items.TransferTimeOn(transfer, send_cost)));
    receives[static_cast<std::size_t>(transfer.receiver)].push_back(
        items.DemandOf(node, items.TransferTimeOn(transfer, receive_cost)));
  }
  Seconds bound_s = 0;
  for (std::size_t worker = 0; worker < num_workers; ++worker) {
    bound_s = std::max(bound_s, ResourceBound(&sends[worker], 1));
    bound_s = std::max(bound_s, ResourceBound(&receives[worker], 1));
  }
  return bound_s;
}

Seconds CutsBound(const Plan& plan, const PlanGraph& graph, const HeadsAndTails& items) {
  Seconds bound_s = 0;
  for (const Cut& cut : plan.network.cuts) {
    std::vector<Demand> crossing;
    for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
      const Transfer& transfer = plan.transfers[i];
      if (!cut.Crosses(transfer.sender, transfer.receiver)) continue;
      crossing.push_back(
          items.DemandOf(graph.NodeOfTransfer(static_cast<TransferIndex>(i)),
                         items.TransferTimeOn(transfer, plan.network.seconds_per_byte)));
    }
    bound_s = std::max(bound_s, ResourceBound(&crossing, cut.channels));
  }
  return bound_s;
}

Seconds StoreBound(const Plan& plan, const PlanGraph& graph, const HeadsAndTails& items) {
  if (plan.store_channels == 0) return 0;
  std::vector<Demand> writes;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (plan.steps[i].kind != StepKind::kWrite) continue;
    const NodeIndex node = graph.NodeOfStep(static_cast<StepIndex>(i));
    writes.push_back(items.DemandOf(node, plan.steps[i].duration_s));
  }
  return ResourceBound(&writes, plan.store_channels);
}

}  // namespace

absl::StatusOr<Seconds> OrderBound(const Plan& plan) {
  if (absl::Status status = CheckItems(plan); !status.ok()) return status;
  const absl::StatusOr<PlanGraph> graph = PlanGraph::Build(plan, GraphRules::kDataOnly);
  if (!graph.ok()) return graph.status();
  const HeadsAndTails items(plan, *graph);
  return std::max({items.LongestChain(), PortsBound(plan, *graph, items),
                   CutsBound(plan, *graph, items), StoreBound(plan, *graph, items)});
}

}  // namespace weir::planner
