#pragma once

// How fast ports are beside what was planned, by the transfers that they carry. Pure. Upstream:
// StragglerWatch. Downstream: nothing.

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/types/span.h"
#include "planner/edit/plan_state.h"
#include "planner/plan/plan.h"
#include "runtime/master/stragglers/ranked_rates.h"

namespace weir::master {

/// What a run has done so far. Views; valid during a call.
struct RunSoFar {
  /// Of the plan in hand; its now_s is the time.
  const planner::PlanState& state;
  /// By step: what it really reads, once it has begun; 0, or no entries: as planned.
  absl::Span<const planner::Bytes> step_input_bytes = {};
  /// By step under way: how much of that it has read, the most heard so far; 0: nothing heard.
  absl::Span<const planner::Bytes> step_bytes_done = {};
  /// By transfer: as granted; 0, or no entries: as planned.
  absl::Span<const planner::Bytes> transfer_bytes = {};
  /// Rising: the transfers that are not where they were at the look before (of a plan that has
  /// begun or was edited since: all that have begun), and perhaps others; none given: any may be.
  std::optional<absl::Span<const planner::TransferIndex>> moved_on = std::nullopt;
};

/// Below this part of what was planned, beside the others, a worker or port is a straggler. A plan
/// errs by a quarter either way, its steps by as much: that makes 0.6 of two at their extremes.
inline constexpr double kStragglerRate = 0.5;
/// Something of which nothing is heard is taken for slow after so many times what was planned: it
/// may then need as long again. The second where others are late too, so that it is less sure when
/// they would have ended.
inline constexpr double kSilentTimes = 1.5;
inline constexpr double kSilentTimesUnsure = 2;
/// Others are late where their pace is below this; above, a prediction is as good as it gets.
inline constexpr double kPaceLeft = 0.8;
/// Nobody is a straggler for less than this: an order, the start of a task and a report take it.
inline constexpr planner::Seconds kStragglerLateS = 0.5;

/// How often what was planned, times the pace, until silence says something.
constexpr double SilentTimes(double pace) {
  return pace < kPaceLeft ? kSilentTimesUnsure : kSilentTimes;
}

/// Returns the lower median; nothing of nothing.
std::optional<double> LowerMedian(std::vector<double> values);

/// Keeps how fast each port is, send and receive apart, beside what the plan in hand says.
///
/// Model: a transfer says p / a of its pair: p as planned for its bytes, a as long as it took, both
///   less the latency; one under way says something once it is late (kSilentTimes), and then that
///   it takes as long again. A pair is slow below kStragglerRate of the other ports' pace: their
///   median, at most 1. Which end it is: the one that was slow the last time too, with another
///   peer; else, where one worker has carried as much as the transfer since it began, by either
///   port, and the other has not, the other; else the one whose other port is late as well; where
///   that says nothing, both, for as long as the transfer is under way. Each port adds up a row of
///   slow transfers, which one that is not slow ends; so many small ones count as one long one
///   does.
/// Ports of kFetchAll plans, and of those whose rates change over time, are not watched: what each
/// transfer gets depends on which others move.
/// Requires: the plan outlives this. Thread-safety: none. An observation takes O(ports log ports),
/// and of each transfer that moved on or is under way O(ports) moves; not more than O(log ports) of
/// one under way.
/// Checked by: tests/unit/master/straggler_watch_test.cc, straggler_watch_property_test.cc.
class PortRates {
 public:
  /// One direction of one worker.
  struct Port {
    double rate = 1;      // beside the plan in hand
    bool behind = false;  // is a straggler
    bool faster = false;  // at least twice as fast as planned, with two peers at least
  };

  explicit PortRates(const planner::Plan& plan);

  void Observe(const RunSoFar& run);
  /// Whether it has arrived, as far as was observed; false of plans whose ports are
  /// not watched.
  bool arrived(std::size_t transfer) const { return counted_[transfer]; }
  const Port& sender(planner::WorkerIndex worker) const { return ports_[planner::At(worker)].port; }
  const Port& receiver(planner::WorkerIndex worker) const {
    return ports_[num_workers_ + planner::At(worker)].port;
  }
  /// Goes on with an edited plan, whose network says what was measured so far.
  void TakeEdit(const planner::Plan& plan, absl::Span<const planner::TransferIndex> transfer_was);

 private:
  /// Transfers of one port that follow each other and are slow, or fast, alike.
  struct Row {
    int count = 0;
    planner::WorkerIndex peer = planner::kNoIndex;  // of the first
    bool several_peers = false;
    planner::Seconds planned_s = 0;
    planner::Seconds took_s = 0;

    void Add(planner::WorkerIndex peer, planner::Seconds planned_s, planner::Seconds took_s);
  };
  /// A transfer that has arrived.
  struct Ended {
    planner::Seconds at_s = 0;
    planner::Seconds planned_s = 0;
    planner::Seconds took_s = 0;
  };
  struct Known {
    Port port;
    Row slow, fast;
    planner::Seconds planned_s = 0, took_s = 0;  // of its transfers, the last counting most

    double rate() const { return planned_s / took_s; }  // once took_s > 0
    /// At least so fast, beside the plan: the least that `rate` and what is under way say. For the
    /// pace of the others.
    std::optional<double> least;
  };

  /// Returns the transfers that have arrived since the last look, in the order in which they did.
  std::vector<std::size_t> TakeMoves(const RunSoFar& run);
  void Count(const planner::Transfer& transfer, const Ended& ended);
  /// Drops what arrived before anything that is under way began.
  void ForgetCarried(const planner::PlanState& state);
  /// Returns whether it was not slow.
  bool CountAt(Known& port, planner::WorkerIndex peer, const Ended& ended);
  /// One under way for longer than it should be.
  struct Late {
    const planner::Transfer* transfer = nullptr;
    planner::Seconds began_s = 0;
    planner::Seconds planned_s = 0;
    planner::Seconds took_s = 0;
  };
  /// Whether the worker's ports carried as much as this since it began, as fast as the others.
  bool CarriedMeanwhile(planner::WorkerIndex worker, const Late& late) const;
  bool IsLate(const Late& moving);
  /// `late_at`: how many are late, by worker.
  void Blame(const Late& late, const std::vector<int>& late_at);
  void FindLeast(const RunSoFar& run);
  /// Of the ports but these two; nothing while nothing is known of any.
  std::optional<double> PaceBeside(const Known& one, const Known& other) const;
  Known& SenderOf(const planner::Transfer& transfer);
  Known& ReceiverOf(const planner::Transfer& transfer);
  // Both without the latency, which is no rate.
  planner::Seconds PlannedSeconds(const RunSoFar& run, std::size_t transfer) const;
  planner::Seconds SecondsSince(const RunSoFar& run, std::size_t transfer) const;

  const planner::Plan* plan_;
  std::size_t num_workers_;
  std::vector<Known> ports_;  // senders, then receivers
  /// By worker, in the order in which they arrived: what was not slow, either way. Since the oldest
  /// that is under way began.
  std::vector<std::deque<Ended>> carried_;
  std::vector<bool> counted_;  // by transfer: done, and its ports know
  absl::btree_set<std::size_t> under_way_;
  RankedRates least_;  // of all ports of which it is known
};

}  // namespace weir::master
