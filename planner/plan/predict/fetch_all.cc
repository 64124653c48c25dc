#include "planner/plan/predict/fetch_all.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/plan/predict/fair_sharing.h"

namespace weir::planner {
namespace {

// Rates computed in one prediction, all events together: about two seconds of one core.
constexpr double kSharingBudget = 3e7;

// Events closer than this part of the network's busy time are rounding, not order.
constexpr double kRoundingPart = 1e-12;

SharingProblem PortsAndCuts(const Plan& plan) {
  const NetworkModel& network = plan.network;
  const double sharing = network.sharing_fraction > 0 ? network.sharing_fraction : 1;
  SharingProblem problem;
  for (int direction = 0; direction < 2; ++direction) {
    for (WorkerIndex worker = 0; worker < network.num_workers; ++worker) {
      problem.capacity.push_back(sharing / network.SecondsPerByte(worker, worker));
    }
  }
  for (const Cut& cut : network.cuts) {
    problem.capacity.push_back(network.CutSharing() / network.seconds_per_byte * cut.channels);
  }
  for (const Transfer& transfer : plan.transfers) {
    AddFlow(network, transfer.sender, transfer.receiver, problem);
  }
  return problem;
}

// Longest time that one resource needs for all bytes that cross it.
Seconds BusiestResourceSeconds(const Plan& plan, const SharingProblem& problem) {
  std::vector<double> volume(problem.capacity.size(), 0);
  for (std::size_t flow = 0; flow < plan.transfers.size(); ++flow) {
    for (auto i = problem.resource_begin[flow]; i < problem.resource_begin[flow + 1]; ++i) {
      volume[static_cast<std::size_t>(problem.resources[i])] +=
          static_cast<double>(plan.transfers[flow].bytes);
    }
  }
  Seconds busiest_s = 0;
  for (std::size_t r = 0; r < volume.size(); ++r) {
    busiest_s = std::max(busiest_s, volume[r] / problem.capacity[r]);
  }
  return busiest_s;
}

class FluidSimulation {
 public:
  FluidSimulation(const Plan& plan, const PlanGraph& graph) : plan_(plan), graph_(graph) {
    const auto num_nodes = static_cast<std::size_t>(graph.num_nodes());
    waits_.assign(num_nodes, 0);
    for (NodeIndex node = 0; node < graph.num_nodes(); ++node) {
      for (const NodeIndex next : graph.Successors(node)) ++waits_[static_cast<std::size_t>(next)];
    }
    ready_s_.assign(num_nodes, 0);
    times_.steps.resize(plan.steps.size());
    times_.transfers.resize(plan.transfers.size());
    rates_.assign(plan.transfers.size(), 0);
    receivers_.resize(static_cast<std::size_t>(plan.network.num_workers));
    if (plan.fetch_limit > 0) FillReceivePlaces();
    for (const Transfer& transfer : plan.transfers) {
      left_bytes_.push_back(static_cast<double>(transfer.bytes));
    }
    if (plan.network.seconds_per_byte > 0 && !plan.transfers.empty()) {
      problem_ = PortsAndCuts(plan);
      // Each transfer brings at most three events: ready, flowing, done.
      const auto num_flows = static_cast<double>(plan.transfers.size());
      const bool exact = 3 * num_flows * num_flows <= kSharingBudget;
      step_min_s_ = (exact ? kRoundingPart : num_flows / kSharingBudget) *
                    BusiestResourceSeconds(plan, problem_);
    }
  }

  Prediction Run() {
    for (NodeIndex node = 0; node < graph_.num_nodes(); ++node) {
      if (waits_[static_cast<std::size_t>(node)] == 0) Start(node);
    }
    BeginFetches();
    while (!events_.empty() || !flowing_.empty()) {
      // The next finish or event, or later when many stand close together. Elapsed time is kept
      // beside the point in time: their difference may round to nothing, and something must happen
      // in every round.
      Seconds elapsed_s = TimeToNextFinish();
      Seconds next_s = now_s_ + elapsed_s;
      if (!events_.empty() && std::get<0>(events_.top()) - now_s_ <= elapsed_s) {
        next_s = std::max(now_s_, std::get<0>(events_.top()));
        elapsed_s = next_s - now_s_;
      }
      if (!flowing_.empty() && elapsed_s < step_min_s_) {
        elapsed_s = step_min_s_;
        next_s = std::max(next_s, now_s_ + step_min_s_);
      }
      Advance(elapsed_s, next_s);
    }
    return std::move(times_);
  }

 private:
  // Time, then node, so that equal times keep one order.
  using Event = std::tuple<Seconds, NodeIndex>;

  bool Flows(NodeIndex node) const {
    return graph_.IsTransfer(node) && plan_.network.seconds_per_byte > 0 &&
           plan_.transfers[static_cast<std::size_t>(graph_.ItemOf(node))].bytes > 0;
  }

  Interval& TimesOf(NodeIndex node) {
    const auto item = static_cast<std::size_t>(graph_.ItemOf(node));
    return graph_.IsTransfer(node) ? times_.transfers[item] : times_.steps[item];
  }

  /// With a fetch limit: what one receiver has under way, and what it could begin, by its place in
  /// the receive order.
  struct Receiver {
    std::int32_t num_under_way = 0;
    std::set<std::pair<std::int32_t, NodeIndex>> ready;
    Seconds free_s = 0;  // when its last fetch ended
    bool changed = false;
  };

  void FillReceivePlaces() {
    receive_place_.assign(plan_.transfers.size(), 0);
    for (const std::vector<TransferIndex>& order : plan_.receive_order) {
      for (std::size_t i = 0; i < order.size(); ++i) {
        receive_place_[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
      }
    }
  }

  void NoteChange(WorkerIndex worker) {
    Receiver& receiver = receivers_[static_cast<std::size_t>(worker)];
    if (!std::exchange(receiver.changed, true)) changed_receivers_.push_back(worker);
  }

  // Everything that `node` waited for is done.
  void Start(NodeIndex node) {
    const Seconds ready_s = ready_s_[static_cast<std::size_t>(node)];
    const auto item = static_cast<std::size_t>(graph_.ItemOf(node));
    if (!graph_.IsTransfer(node)) {
      const ComputeStep& step = plan_.steps[item];
      Begin(node, std::max(ready_s, step.release_s), step.duration_s);
    } else if (plan_.fetch_limit == 0) {
      Begin(node, ready_s, plan_.network.latency_s);
    } else {
      const WorkerIndex worker = plan_.transfers[item].receiver;
      receivers_[static_cast<std::size_t>(worker)].ready.insert({receive_place_[item], node});
      NoteChange(worker);
    }
  }

  // The event of `node` is its finish, or for a flow the end of its latency.
  void Begin(NodeIndex node, Seconds start_s, Seconds lasts_s) {
    TimesOf(node).start_s = start_s;
    events_.push({start_s + lasts_s, node});
  }

  // Fills the free places of the receivers that changed. Called once all that happens at one moment
  // is known, so that the receive order decides and not the order of events.
  void BeginFetches() {
    for (const WorkerIndex worker : std::exchange(changed_receivers_, {})) {
      Receiver& receiver = receivers_[static_cast<std::size_t>(worker)];
      receiver.changed = false;
      while (receiver.num_under_way < plan_.fetch_limit && !receiver.ready.empty()) {
        const NodeIndex node = receiver.ready.begin()->second;
        receiver.ready.erase(receiver.ready.begin());
        ++receiver.num_under_way;
        Begin(node, std::max(ready_s_[static_cast<std::size_t>(node)], receiver.free_s),
              plan_.network.latency_s);
      }
    }
  }

  void Finish(NodeIndex node, Seconds finish_s) {
    TimesOf(node).finish_s = finish_s;
    times_.makespan_s = std::max(times_.makespan_s, finish_s);
    if (plan_.fetch_limit > 0 && graph_.IsTransfer(node)) {
      const WorkerIndex worker =
          plan_.transfers[static_cast<std::size_t>(graph_.ItemOf(node))].receiver;
      Receiver& receiver = receivers_[static_cast<std::size_t>(worker)];
      --receiver.num_under_way;
      receiver.free_s = std::max(receiver.free_s, finish_s);
      NoteChange(worker);
    }
    for (const NodeIndex next : graph_.Successors(node)) {
      const auto position = static_cast<std::size_t>(next);
      ready_s_[position] = std::max(ready_s_[position], finish_s);
      if (--waits_[position] == 0) Start(next);
    }
  }

  Seconds TimeToNextFinish() {
    if (flowing_.empty()) return std::numeric_limits<double>::infinity();
    if (sharing_changed_) MaxMinRates(problem_, flowing_, &rates_);
    sharing_changed_ = false;
    Seconds least_s = std::numeric_limits<double>::infinity();
    for (const std::int32_t flow : flowing_) {
      const auto f = static_cast<std::size_t>(flow);
      least_s = std::min(least_s, left_bytes_[f] / rates_[f]);
    }
    return least_s;
  }

  void Advance(Seconds elapsed_s, Seconds next_s) {
    std::size_t kept = 0;
    std::vector<std::pair<std::int32_t, Seconds>> finished;
    for (const std::int32_t flow : flowing_) {
      const auto f = static_cast<std::size_t>(flow);
      const Seconds needs_s = left_bytes_[f] / rates_[f];
      if (needs_s <= elapsed_s * (1 + kRoundingPart)) {
        finished.push_back({flow, now_s_ + std::min(needs_s, elapsed_s)});
      } else {
        left_bytes_[f] -= elapsed_s * rates_[f];
        flowing_[kept++] = flow;
      }
    }
    sharing_changed_ = sharing_changed_ || kept < flowing_.size();
    flowing_.resize(kept);
    now_s_ = next_s;
    for (const auto& [flow, finish_s] : finished) Finish(graph_.NodeOfTransfer(flow), finish_s);
    while (!events_.empty() && std::get<0>(events_.top()) <= now_s_) {
      const auto [time_s, node] = events_.top();
      events_.pop();
      if (Flows(node)) {
        flowing_.push_back(graph_.ItemOf(node));
        sharing_changed_ = true;
      } else {
        Finish(node, time_s);
      }
    }
    BeginFetches();
  }

  const Plan& plan_;
  const PlanGraph& graph_;
  SharingProblem problem_;
  Seconds step_min_s_ = 0;
  std::vector<std::int32_t> waits_;
  std::vector<Seconds> ready_s_;
  std::vector<double> left_bytes_;
  std::vector<double> rates_;
  std::vector<std::int32_t> flowing_;
  std::vector<Receiver> receivers_;
  std::vector<WorkerIndex> changed_receivers_;
  std::vector<std::int32_t> receive_place_;  // by transfer
  bool sharing_changed_ = false;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Seconds now_s_ = 0;
  Prediction times_;
};

}  // namespace

Prediction PredictFetchAll(const Plan& plan, const PlanGraph& graph) {
  return FluidSimulation(plan, graph).Run();
}

}  // namespace weir::planner
