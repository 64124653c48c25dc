#include "tests/bench/simgrid/plan_replay.h"

#include <algorithm>
#include <simgrid/s4u.hpp>

#include "absl/strings/str_cat.h"
#include "planner/plan/plan_graph.h"
#include "planner/plan/units.h"
#include "tests/bench/simgrid/platform.h"

namespace weir::bench {

namespace {

namespace s4u = simgrid::s4u;
using planner::At;
using planner::NodeIndex;
using planner::Plan;
using planner::PlanGraph;

absl::Status CheckReplayable(const Plan& plan) {
  if (plan.transfer_order != planner::TransferOrder::kStrict)
    return absl::UnimplementedError("only plans in strict order are replayed");
  if (plan.store_channels > 0)
    return absl::UnimplementedError("plans that share a store are not replayed");
  for (const planner::ComputeStep& step : plan.steps) {
    if (step.release_s > 0)
      return absl::UnimplementedError("plans with release dates are not replayed");
  }
  return absl::OkStatus();
}

s4u::ActivityPtr MakeActivity(const Plan& plan, const PlanGraph& graph, NodeIndex node,
                              absl::Span<s4u::Host* const> hosts) {
  if (graph.IsTransfer(node)) {
    const planner::Transfer& transfer = plan.transfers[At(graph.ItemOf(node))];
    return s4u::Comm::sendto_init(hosts[At(transfer.sender)], hosts[At(transfer.receiver)])
        ->set_payload_size(static_cast<std::uint64_t>(transfer.bytes));
  }
  const planner::ComputeStep& step = plan.steps[At(graph.ItemOf(node))];
  return s4u::Exec::init()
      ->set_flops_amount(step.duration_s * kFlopsPerSecond)
      ->set_host(hosts[At(step.worker)]);
}

/// A step that takes no time is none: its successors wait for what it waits for.
bool TakesNoTime(const Plan& plan, const PlanGraph& graph, NodeIndex node) {
  return !graph.IsTransfer(node) && plan.steps[At(graph.ItemOf(node))].duration_s == 0;
}

/// Starts activities when the last thing that they wait for has ended.
class Replay {
 public:
  Replay(const Plan& plan, const PlanGraph& graph, absl::Span<s4u::Host* const> hosts)
      : plan_(plan), graph_(graph), hosts_(hosts) {
    waits_for_.assign(At(graph.num_nodes()), 0);
    for (NodeIndex node = 0; node < graph.num_nodes(); ++node) {
      for (NodeIndex next : graph.Successors(node)) ++waits_for_[At(next)];
    }
  }

  void StartSources() {
    std::vector<NodeIndex> sources;
    for (NodeIndex node = 0; node < graph_.num_nodes(); ++node) {
      if (waits_for_[At(node)] == 0) sources.push_back(node);
    }
    Start(sources);
  }

  void Ended(NodeIndex node) {
    ++num_ended_;
    std::vector<NodeIndex> ready;
    Release(node, &ready);
    Start(ready);
  }

  bool done() const { return num_ended_ == graph_.num_nodes(); }

 private:
  void Release(NodeIndex node, std::vector<NodeIndex>* ready) {
    for (NodeIndex next : graph_.Successors(node)) {
      if (--waits_for_[At(next)] == 0) ready->push_back(next);
    }
  }

  void Start(std::vector<NodeIndex>& ready) {
    while (!ready.empty()) {
      const NodeIndex node = ready.back();
      ready.pop_back();
      if (TakesNoTime(plan_, graph_, node)) {
        ++num_ended_;
        Release(node, &ready);
        continue;
      }
      s4u::ActivityPtr activity = MakeActivity(plan_, graph_, node, hosts_);
      activity->set_data(reinterpret_cast<void*>(static_cast<std::intptr_t>(node) + 1));
      activity->vetoable_start();
      running_.push_back(std::move(activity));
    }
  }

  const Plan& plan_;
  const PlanGraph& graph_;
  absl::Span<s4u::Host* const> hosts_;
  std::vector<std::int32_t> waits_for_;
  std::vector<s4u::ActivityPtr> running_;
  NodeIndex num_ended_ = 0;
};

/// The plan under way: SimGrid's callbacks stay registered for the life of the process.
Replay* under_way = nullptr;

void RegisterCallback() {
  static const bool registered = [] {
    s4u::Activity::on_completion_cb([](s4u::Activity const& activity) {
      const auto tag = reinterpret_cast<std::intptr_t>(activity.get_data<void>());
      if (under_way != nullptr && tag != 0) under_way->Ended(static_cast<NodeIndex>(tag - 1));
    });
    return true;
  }();
  (void)registered;
}

}  // namespace

absl::StatusOr<planner::Seconds> ReplayPlan(const Plan& plan, absl::Span<s4u::Host* const> hosts) {
  if (absl::Status status = CheckReplayable(plan); !status.ok()) return status;
  absl::StatusOr<PlanGraph> graph = PlanGraph::Build(plan, planner::GraphRules::kDataAndOrders);
  if (!graph.ok()) return graph.status();
  RegisterCallback();
  const double begin_s = s4u::Engine::get_clock();
  Replay replay(plan, *graph, hosts);
  under_way = &replay;
  replay.StartSources();
  s4u::Engine::get_instance()->run();
  under_way = nullptr;
  if (!replay.done()) return absl::InternalError("SimGrid ended before the plan did");
  return s4u::Engine::get_clock() - begin_s;
}

}  // namespace weir::bench
