#include "planner/plan/predict/in_time.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/plan/predict/rate_room.h"

namespace weir::planner {
namespace {

class TurnsInTime {
 public:
  TurnsInTime(const Plan& plan, const PlanGraph& graph)
      : plan_(plan),
        graph_(graph),
        by_rates_(plan.transfer_order == TransferOrder::kRates),
        room_(plan),
        earliest_s_(static_cast<std::size_t>(graph.num_nodes()), 0),
        waits_(static_cast<std::size_t>(graph.num_nodes()), 0),
        place_(plan.steps.size(), 0),
        workers_(plan.compute_order.size()) {
    times_.steps.resize(plan.steps.size());
    times_.transfers.resize(plan.transfers.size());
    for (const std::vector<StepIndex>& order : plan.compute_order) {
      for (std::size_t i = 0; i < order.size(); ++i) place_[static_cast<std::size_t>(order[i])] = i;
    }
    for (std::size_t i = 0; i < plan.steps.size(); ++i) earliest_s_[i] = plan.steps[i].release_s;
    for (NodeIndex node = 0; node < graph.num_nodes(); ++node) {
      for (const NodeIndex next : graph.Successors(node)) ++waits_[static_cast<std::size_t>(next)];
    }
  }

  Prediction Run() {
    if (by_rates_) {
      for (std::size_t t = 0; t < plan_.transfers.size(); ++t) {
        room_.Expect(static_cast<TransferIndex>(t));
      }
    }
    for (NodeIndex node = 0; node < graph_.num_nodes(); ++node) {
      if (waits_[static_cast<std::size_t>(node)] == 0) Push(node, What::kCanStart);
    }
    RunEvents();
    // Of a plan in another order than its layers, what is expected may itself wait for what its
    // place keeps back.
    if (by_rates_) {
      room_.ForgetExpected();
      StartTransfers(now_s_);
      RunEvents();
    }
    return std::move(times_);
  }

 private:
  void RunEvents() {
    while (!events_.empty()) {
      // All that happens at one moment, before workers choose what they start then.
      const Seconds now_s = now_s_ = events_.top().when_s;
      while (!events_.empty() && events_.top().when_s == now_s) {
        const Event event = events_.top();
        events_.pop();
        Take(event);
      }
      for (const WorkerIndex worker : touched_) StartNext(worker, now_s);
      touched_.clear();
      if (by_rates_) StartTransfers(now_s);
    }
  }

  enum class What { kFinished, kCanStart };
  struct Event {
    Seconds when_s;
    What what;
    NodeIndex node;

    bool operator>(const Event& other) const {
      return std::tie(when_s, what, node) > std::tie(other.when_s, other.what, other.node);
    }
  };
  struct Worker {
    bool busy = false;
    std::vector<StepIndex> ready;  // one of each order at most
  };

  Interval& IntervalOf(NodeIndex node) {
    const auto item = static_cast<std::size_t>(graph_.ItemOf(node));
    return graph_.IsTransfer(node) ? times_.transfers[item] : times_.steps[item];
  }

  WorkerIndex WorkerOf(NodeIndex step) const {
    return plan_.steps[static_cast<std::size_t>(step)].worker;
  }

  void Push(NodeIndex node, What what) {
    const Seconds when_s = what == What::kFinished ? IntervalOf(node).finish_s
                                                   : earliest_s_[static_cast<std::size_t>(node)];
    events_.push({when_s, what, node});
  }

  void Start(NodeIndex node, Seconds now_s) {
    const Seconds finish_s = now_s + NodeSeconds(plan_, graph_, node);
    IntervalOf(node) = {now_s, finish_s};
    times_.makespan_s = std::max(times_.makespan_s, finish_s);
    Push(node, What::kFinished);
  }

  void Take(const Event& event) {
    const bool is_step = !graph_.IsTransfer(event.node);
    if (event.what == What::kCanStart && !is_step) {
      if (by_rates_) return room_.Wait(graph_.ItemOf(event.node));
      return Start(event.node, event.when_s);
    }
    if (!is_step && by_rates_) room_.End(graph_.ItemOf(event.node));
    if (is_step) {
      Worker& worker = workers_[static_cast<std::size_t>(WorkerOf(event.node))];
      touched_.insert(WorkerOf(event.node));
      if (event.what == What::kCanStart) return worker.ready.push_back(event.node);
      worker.busy = false;
    }
    for (const NodeIndex next : graph_.Successors(event.node)) {
      Seconds& earliest_s = earliest_s_[static_cast<std::size_t>(next)];
      earliest_s = std::max(earliest_s, event.when_s);
      if (--waits_[static_cast<std::size_t>(next)] == 0) Push(next, What::kCanStart);
    }
  }

  void StartTransfers(Seconds now_s) {
    for (const TransferIndex transfer : room_.TakeStartable()) {
      Start(graph_.NodeOfTransfer(transfer), now_s);
    }
  }

  void StartNext(WorkerIndex index, Seconds now_s) {
    Worker& worker = workers_[static_cast<std::size_t>(index)];
    if (worker.busy || worker.ready.empty()) return;
    const auto first = std::min_element(
        worker.ready.begin(), worker.ready.end(), [this](StepIndex a, StepIndex b) {
          return place_[static_cast<std::size_t>(a)] < place_[static_cast<std::size_t>(b)];
        });
    const StepIndex step = *first;
    worker.ready.erase(first);
    worker.busy = true;
    Start(step, now_s);
  }

  const Plan& plan_;
  const PlanGraph& graph_;
  const bool by_rates_;
  RateRoom room_;
  Seconds now_s_ = 0;
  Prediction times_;
  std::vector<Seconds> earliest_s_;  // by node
  std::vector<std::int64_t> waits_;  // by node: for how many
  std::vector<std::size_t> place_;   // by step, in its worker's compute_order
  std::vector<Worker> workers_;
  std::set<WorkerIndex> touched_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace

Seconds NodeSeconds(const Plan& plan, const PlanGraph& graph, NodeIndex node) {
  const auto item = static_cast<std::size_t>(graph.ItemOf(node));
  if (!graph.IsTransfer(node)) return plan.steps[item].duration_s;
  return TransferSeconds(plan, plan.transfers[item], plan.transfers[item].bytes);
}

Prediction PredictInTime(const Plan& plan, const PlanGraph& graph) {
  return TurnsInTime(plan, graph).Run();
}

}  // namespace weir::planner
