#include "planner/plan/predict/in_time.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/plan/predict/rate_allocation.h"
#include "planner/plan/predict/rate_room.h"

namespace weir::planner {
namespace {

class TurnsInTime {
 public:
  TurnsInTime(const Plan& plan, const PlanGraph& graph)
      : plan_(plan),
        graph_(graph),
        by_rates_(plan.transfer_order == TransferOrder::kRates),
        over_time_(plan.rates_over_time),
        room_(plan),
        allocation_(plan),
        earliest_s_(static_cast<std::size_t>(graph.num_nodes()), 0),
        waits_(static_cast<std::size_t>(graph.num_nodes()), 0),
        place_(plan.steps.size(), 0),
        workers_(plan.compute_order.size()) {
    times_.steps.resize(plan.steps.size());
    times_.transfers.resize(plan.transfers.size());
    if (over_time_) times_.transfer_rates.resize(plan.transfers.size());
    for (const std::vector<StepIndex>& order : plan.compute_order) {
      for (std::size_t i = 0; i < order.size(); ++i) place_[static_cast<std::size_t>(order[i])] = i;
    }
    for (std::size_t i = 0; i < plan.steps.size(); ++i) earliest_s_[i] = plan.steps[i].release_s;
    for (NodeIndex node = 0; node < graph.num_nodes(); ++node) {
      for (const NodeIndex next : graph.Successors(node)) ++waits_[static_cast<std::size_t>(next)];
    }
  }

  Prediction Run() {
    if (by_rates_ && !over_time_) {
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
    if (by_rates_ && !over_time_) {
      room_.ForgetExpected();
      StartTransfers(now_s_);
      RunEvents();
    }
    return std::move(times_);
  }

 private:
  void RunEvents() {
    for (;;) {
      // All that happens at one moment, before workers choose what they start then.
      const Seconds now_s = now_s_ = NextMoment();
      if (now_s == kNever) return;
      EndRated(now_s);
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

  static constexpr Seconds kNever = std::numeric_limits<double>::infinity();

  Seconds NextMoment() {
    const Seconds event_s = events_.empty() ? kNever : events_.top().when_s;
    if (!over_time_) return event_s;
    next_end_ = allocation_.FindNextEnd();
    return next_end_ ? std::min(event_s, next_end_->at_s) : event_s;
  }

  // Rates over time: what ends now is known only now.
  void EndRated(Seconds now_s) {
    if (!over_time_) return;
    while (next_end_ && next_end_->at_s <= now_s) {
      const NodeIndex node = graph_.NodeOfTransfer(next_end_->transfer);
      IntervalOf(node).finish_s = now_s;
      times_.makespan_s = std::max(times_.makespan_s, now_s);
      Take({now_s, What::kFinished, node});
      next_end_ = allocation_.FindNextEnd();
    }
  }

  // Senders obey at once.
  void AllocateRates(Seconds now_s) {
    for (;;) {
      const RateAllocation::Turn turn = allocation_.Take(now_s);
      if (turn.begin.empty() && turn.change.empty()) return;
      for (const RateOrder& order : turn.begin) {
        IntervalOf(graph_.NodeOfTransfer(order.transfer)).start_s = now_s;
        times_.transfer_rates[At(order.transfer)].push_back({now_s, order.bytes_per_s});
      }
      for (const RateOrder& order : turn.change) {
        allocation_.Confirm(order.transfer, order.number);
        NoteChange({now_s, order.bytes_per_s}, &times_.transfer_rates[At(order.transfer)]);
      }
    }
  }

  static void NoteChange(const RateChange& change, std::vector<RateChange>* rates) {
    if (rates->back().at_s == change.at_s) rates->pop_back();
    rates->push_back(change);
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
      const TransferIndex transfer = graph_.ItemOf(event.node);
      if (over_time_) return allocation_.Wait(transfer, plan_.transfers[At(transfer)].bytes);
      if (by_rates_) return room_.Wait(transfer);
      return Start(event.node, event.when_s);
    }
    if (!is_step && over_time_) {
      allocation_.End(graph_.ItemOf(event.node));
    } else if (!is_step && by_rates_) {
      room_.End(graph_.ItemOf(event.node));
    }
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
    if (over_time_) return AllocateRates(now_s);
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
  const bool over_time_;
  RateRoom room_;              // rates that stay
  RateAllocation allocation_;  // rates over time
  std::optional<RateAllocation::NextEnd> next_end_;
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
