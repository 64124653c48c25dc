// Upstream: a plan, whoever built it. Downstream: plan_graph, fetch_all, critical_path.

#include "planner/plan/predict/predict.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/plan/plan_graph.h"
#include "planner/plan/plan_structure.h"
#include "planner/plan/predict/critical_path.h"
#include "planner/plan/predict/fetch_all.h"

namespace weir::planner {
namespace {

Seconds DurationOf(const Plan& plan, const PlanGraph& graph, NodeIndex node) {
  const auto item = static_cast<std::size_t>(graph.ItemOf(node));
  if (!graph.IsTransfer(node)) return plan.steps[item].duration_s;
  const Transfer& transfer = plan.transfers[item];
  return plan.network.TransferSeconds(transfer.sender, transfer.receiver, transfer.bytes);
}

Prediction EmptyPrediction(const Plan& plan) {
  Prediction times;
  times.steps.resize(plan.steps.size());
  times.transfers.resize(plan.transfers.size());
  return times;
}

Interval& IntervalOf(const PlanGraph& graph, NodeIndex node, Prediction& times) {
  const auto item = static_cast<std::size_t>(graph.ItemOf(node));
  return graph.IsTransfer(node) ? times.transfers[item] : times.steps[item];
}

// Earliest start of every node of an acyclic graph, in one pass: whoever is first in topological
// order has all the finishes it waits for.
Prediction PredictOrdered(const Plan& plan, const PlanGraph& graph) {
  Prediction times = EmptyPrediction(plan);
  std::vector<Seconds> earliest_s(static_cast<std::size_t>(graph.num_nodes()), 0);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) earliest_s[i] = plan.steps[i].release_s;
  for (const NodeIndex node : graph.topological_order()) {
    const Seconds start_s = earliest_s[static_cast<std::size_t>(node)];
    const Seconds finish_s = start_s + DurationOf(plan, graph, node);
    IntervalOf(graph, node, times) = {start_s, finish_s};
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

/// Event by event, as the conductor does it: a worker runs one step at a time, and of two that are
/// ready when it falls free the first in compute_order goes first.
class TurnsInTime {
 public:
  TurnsInTime(const Plan& plan, const PlanGraph& graph)
      : plan_(plan),
        graph_(graph),
        times_(EmptyPrediction(plan)),
        earliest_s_(static_cast<std::size_t>(graph.num_nodes()), 0),
        waits_(static_cast<std::size_t>(graph.num_nodes()), 0),
        place_(plan.steps.size(), 0),
        workers_(plan.compute_order.size()) {
    for (const std::vector<StepIndex>& order : plan.compute_order) {
      for (std::size_t i = 0; i < order.size(); ++i) place_[static_cast<std::size_t>(order[i])] = i;
    }
    for (std::size_t i = 0; i < plan.steps.size(); ++i) earliest_s_[i] = plan.steps[i].release_s;
    for (NodeIndex node = 0; node < graph.num_nodes(); ++node) {
      for (const NodeIndex next : graph.Successors(node)) ++waits_[static_cast<std::size_t>(next)];
    }
  }

  Prediction Run() {
    for (NodeIndex node = 0; node < graph_.num_nodes(); ++node) {
      if (waits_[static_cast<std::size_t>(node)] == 0) Push(node, What::kCanStart);
    }
    while (!events_.empty()) {
      // All that happens at one moment, before workers choose what they start then.
      const Seconds now_s = events_.top().when_s;
      while (!events_.empty() && events_.top().when_s == now_s) {
        const Event event = events_.top();
        events_.pop();
        Take(event);
      }
      for (const WorkerIndex worker : touched_) StartNext(worker, now_s);
      touched_.clear();
    }
    return std::move(times_);
  }

 private:
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

  WorkerIndex WorkerOf(NodeIndex step) const {
    return plan_.steps[static_cast<std::size_t>(step)].worker;
  }

  void Push(NodeIndex node, What what) {
    const Seconds when_s = what == What::kFinished ? IntervalOf(graph_, node, times_).finish_s
                                                   : earliest_s_[static_cast<std::size_t>(node)];
    events_.push({when_s, what, node});
  }

  void Start(NodeIndex node, Seconds now_s) {
    const Seconds finish_s = now_s + DurationOf(plan_, graph_, node);
    IntervalOf(graph_, node, times_) = {now_s, finish_s};
    times_.makespan_s = std::max(times_.makespan_s, finish_s);
    Push(node, What::kFinished);
  }

  void Take(const Event& event) {
    const bool is_step = !graph_.IsTransfer(event.node);
    if (event.what == What::kCanStart && !is_step) return Start(event.node, event.when_s);
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
  Prediction times_;
  std::vector<Seconds> earliest_s_;  // by node
  std::vector<std::int64_t> waits_;  // by node: for how many
  std::vector<std::size_t> place_;   // by step, in its worker's compute_order
  std::vector<Worker> workers_;
  std::set<WorkerIndex> touched_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
};

}  // namespace

absl::StatusOr<Prediction> Predict(const Plan& plan) {
  if (absl::Status status = CheckStructure(plan); !status.ok()) return status;
  const bool ordered = plan.transfer_order != TransferOrder::kFetchAll;
  const absl::StatusOr<PlanGraph> graph =
      PlanGraph::Build(plan, ordered ? GraphRules::kDataAndOrders : GraphRules::kDataAndStore);
  if (!graph.ok()) return graph.status();
  Prediction prediction;
  if (!ordered) {
    prediction = PredictFetchAll(plan, *graph);
  } else if (TakesTurns(plan)) {
    prediction = TurnsInTime(plan, *graph).Run();
  } else {
    prediction = PredictOrdered(plan, *graph);
  }
  prediction.critical_path = CriticalPath(plan, *graph, prediction);
  prediction.idle_s = IdleSeconds(plan, prediction);
  return prediction;
}

}  // namespace weir::planner
