#include "planner/order/order_bound.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "planner/plan/cut_lanes.h"
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

  // Time of a transfer on one of its ports, and on a cut.
  Seconds TimeOnPort(const Transfer& transfer, WorkerIndex port) const {
    return IsOrdered(plan_.transfer_order) ? OrderedSeconds(transfer)
                                           : SharedPortSeconds(plan_, transfer, port);
  }
  Seconds TimeOnCut(const Transfer& transfer) const {
    return IsOrdered(plan_.transfer_order) ? OrderedSeconds(transfer)
                                           : SharedCutSeconds(plan_, transfer);
  }

 private:
  Seconds OrderedSeconds(const Transfer& transfer) const {
    return plan_.network.TransferSeconds(transfer.sender, transfer.receiver, transfer.bytes);
  }

  Seconds LastsSeconds(NodeIndex node) const {
    const auto item = static_cast<std::size_t>(graph_.ItemOf(node));
    if (!graph_.IsTransfer(node)) return plan_.steps[item].duration_s;
    const Transfer& transfer = plan_.transfers[item];
    if (IsOrdered(plan_.transfer_order)) return OrderedSeconds(transfer);
    // No faster than either port: what the pair takes for the whole of its way.
    return StartSeconds(plan_) + std::max(SharedPortSeconds(plan_, transfer, transfer.sender),
                                          SharedPortSeconds(plan_, transfer, transfer.receiver));
  }

  void ComputeHead(NodeIndex node) {
    Seconds& head_s = head_s_[static_cast<std::size_t>(node)];
    if (!graph_.IsTransfer(node)) {
      const ComputeStep& step = plan_.steps[static_cast<std::size_t>(node)];
      head_s = std::max(head_s, step.release_s);
      // All it waits for must come through one receive port.
      std::vector<Demand> arrivals;
      for (const TransferIndex index : step.after_transfers) {
        const Transfer& transfer = plan_.transfers[static_cast<std::size_t>(index)];
        arrivals.push_back({head_s_[static_cast<std::size_t>(graph_.NodeOfTransfer(index))],
                            TimeOnPort(transfer, step.worker), 0});
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
    sends[static_cast<std::size_t>(transfer.sender)].push_back(
        items.DemandOf(node, items.TimeOnPort(transfer, transfer.sender)));
    receives[static_cast<std::size_t>(transfer.receiver)].push_back(
        items.DemandOf(node, items.TimeOnPort(transfer, transfer.receiver)));
  }
  Seconds bound_s = 0;
  for (std::size_t worker = 0; worker < num_workers; ++worker) {
    bound_s = std::max(bound_s, ResourceBound(&sends[worker], 1));
    bound_s = std::max(bound_s, ResourceBound(&receives[worker], 1));
  }
  return bound_s;
}

// What crosses one cut.
class Crossing {
 public:
  Crossing(const Plan& plan, const CutLanes& lanes, const HeadsAndTails& items)
      : plan_(plan), lanes_(lanes), items_(items) {}

  void Add(TransferIndex transfer, NodeIndex node) { crossing_.push_back({transfer, node}); }

  // By the rates: no order and no sharing of the cut does better.
  Seconds VolumeBound(std::int32_t channels) const {
    const bool shared = !IsOrdered(plan_.transfer_order);
    std::vector<Demand> demands;
    for (const auto& [index, node] : crossing_) {
      const Transfer& transfer = plan_.transfers[static_cast<std::size_t>(index)];
      const double part = shared ? 1 : lanes_.ChannelsTaken(transfer.sender, transfer.receiver);
      demands.push_back(items_.DemandOf(node, part * TimeOf(transfer)));
    }
    return ResourceBound(&demands, channels);
  }

  // A slow port moves one transfer at a time, and beside that one there is room for one less at
  // full rate: so these and those at full rate count a channel each.
  Seconds BesideSlowPortBound(std::int32_t channels, WorkerIndex Transfer::*end) const {
    const WorkerIndex port = BusiestSlowPort(end);
    if (port == kNoIndex) return 0;
    std::vector<Demand> demands;
    for (const auto& [index, node] : crossing_) {
      const Transfer& transfer = plan_.transfers[static_cast<std::size_t>(index)];
      const bool full = lanes_.Taken(transfer.sender, transfer.receiver) == lanes_.per_channel();
      if (full || transfer.*end == port) demands.push_back(items_.DemandOf(node, TimeOf(transfer)));
    }
    return ResourceBound(&demands, channels);
  }

 private:
  Seconds TimeOf(const Transfer& transfer) const { return items_.TimeOnCut(transfer); }

  WorkerIndex BusiestSlowPort(WorkerIndex Transfer::*end) const {
    std::vector<Seconds> busy_s(static_cast<std::size_t>(plan_.network.num_workers), 0);
    WorkerIndex busiest = kNoIndex;
    for (const auto& [index, node] : crossing_) {
      const Transfer& transfer = plan_.transfers[static_cast<std::size_t>(index)];
      const WorkerIndex port = transfer.*end;
      if (lanes_.OfPort(port) == lanes_.per_channel()) continue;
      busy_s[static_cast<std::size_t>(port)] += TimeOf(transfer);
      if (busiest == kNoIndex ||
          busy_s[static_cast<std::size_t>(port)] > busy_s[static_cast<std::size_t>(busiest)]) {
        busiest = port;
      }
    }
    return busiest;
  }

  const Plan& plan_;
  const CutLanes& lanes_;
  const HeadsAndTails& items_;
  std::vector<std::pair<TransferIndex, NodeIndex>> crossing_;
};

Seconds CutsBound(const Plan& plan, const PlanGraph& graph, const HeadsAndTails& items) {
  const CutLanes lanes(plan.network);
  Seconds bound_s = 0;
  for (const Cut& cut : plan.network.cuts) {
    Crossing crossing(plan, lanes, items);
    for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
      if (!cut.Crosses(plan.transfers[i].sender, plan.transfers[i].receiver)) continue;
      const auto index = static_cast<TransferIndex>(i);
      crossing.Add(index, graph.NodeOfTransfer(index));
    }
    bound_s = std::max(bound_s, crossing.VolumeBound(cut.channels));
    if (!IsOrdered(plan.transfer_order) || lanes.per_channel() == 1) continue;
    for (const auto end : {&Transfer::sender, &Transfer::receiver}) {
      bound_s = std::max(bound_s, crossing.BesideSlowPortBound(cut.channels, end));
    }
  }
  return bound_s;
}

Seconds StoreBound(const Plan& plan, const PlanGraph& graph, const HeadsAndTails& items) {
  if (plan.store_channels == 0) return 0;
  std::vector<Demand> writes;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (!plan.steps[i].kind->stores) continue;
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
