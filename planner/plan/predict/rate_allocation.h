#pragma once

// Rates over time: who may move at what rate, anew whenever transfers begin or end. Upstream:
// Predict, TransferScheduler (runtime/master). Downstream: fair_sharing (who uses what, max-min).

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "planner/plan/plan.h"
#include "planner/plan/predict/fair_sharing.h"

namespace weir::planner {

/// Slowest that a socket is paced at: four segments of 1448 bytes in each 200 ms. With fewer on
/// their way in the shortest retransmission timeout of Linux, a lost one is found by the timer and
/// not by those that arrive after it.
inline constexpr double kSlowestRateBytesPerS = 28960;

/// One that has less than this left keeps its rate to the end: to tell a sender of another one
/// takes a few milliseconds, and it cannot be known better than that when it ends.
inline constexpr Seconds kRateKeptS = 0.08;

/// Runs that are to come this soon, or should have this lately, have their shares kept for them: to
/// take them back from others would take as long.
inline constexpr Seconds kRunExpectedS = 0.04;

/// One that should have ended this long ago was slower than its rates say, by what its start took
/// or its port did: it gets what nobody else uses.
inline constexpr Seconds kRateOverdueS = 0.01;

/// Where nobody begins, rates only change if one gains this part of its own at least.
inline constexpr double kRateGainMin = 0.05;

/// A rate that a sender is to pace a transfer at.
struct RateOrder {
  TransferIndex transfer = kNoIndex;
  double bytes_per_s = 0;
  /// Of the rates of this transfer since it began, rising; its first is 0.
  std::int32_t number = 0;
};

/// Divides ports and cuts among the transfers of a plan whose rates change over time
/// (Plan::rates_over_time).
///
/// Model: whenever a transfer is ready, ends or is taken back, what is there is divided anew.
///   - Transfers with less than kRateKeptS left keep their rates. What they leave is divided by
///     weighted max-min, the weight of each being the bytes that it has left: so all that share the
///     busiest port or cut end together, as early as that one allows (the minimum allocation for
///     the desired duration), and the others have what those leave, as long as runs of their layer
///     are yet to come, which will want ports then; once all are there, or expected, no more than
///     what ends together with the busiest, which leaves queues empty. Nobody gets less than
///     kSlowestRateBytesPerS; where a port or cut has not as much for one more, that one waits, the
///     last in the plan first.
///   - Those that are expected get their share, and begin with it when they come, without a word to
///     others, if these have left it.
///   - What is left then goes to those that are overdue by kRateOverdueS, in proportion to their
///     rates.
///   - If nobody begins, rates stay unless one gains kRateGainMin by it.
///   - Lower first: a lower rate holds what the transfer had until its sender has confirmed it.
///     Others begin, or get more, when that much is really free. So what is held never adds up to
///     more than PacedBytesPerS of any port or cut (but for 1e-9 of it, which is rounding),
///     whenever messages arrive.
///   - What is left is what the rates say since it began: nobody reports bytes in between.
/// Requires: CheckStructure accepts the plan, which outlives this; of plans without rates_over_time
///   nothing is called. Times do not go backwards.
/// Thread-safety: none. A turn that divides anew takes O(under way and waiting * cuts * ports and
///   cuts that are full), others O(under way and waiting * cuts).
/// Source: M. Chowdhury, Y. Zhong, I. Stoica, "Efficient coflow scheduling with Varys", SIGCOMM
///   2014, section 5.3 (MADD); fair_sharing.h for max-min.
/// Checked by: tests/unit/planner_plan/rate_allocation_test.cc (by hand),
///   tests/unit/planner_job/rates_over_time_property_test.cc (sums at any time, whatever is
///   confirmed when), tests/unit/master/conductor_machine_property_test.cc.
class RateAllocation {
 public:
  explicit RateAllocation(const Plan& plan);

  /// Its run is there, `bytes` are to be moved: it waits for a rate.
  void Wait(TransferIndex transfer, Bytes bytes);
  /// Its run is expected, or no more: until it waits its share is kept for it. Idempotent.
  void Expect(TransferIndex transfer, Bytes bytes);
  void Unexpect(TransferIndex transfer);
  /// It waits no more, or will never come, and has not begun. Idempotent.
  void Withdraw(TransferIndex transfer);
  /// It is under way already, at what `order` says, with that many bytes left, and perhaps still at
  /// `held_bytes_per_s`, as long as nobody confirms `order`.
  void Begin(const RateOrder& order, Bytes bytes_left, double held_bytes_per_s, Seconds now_s);
  /// It gives back what it had. Requires: it has begun.
  void End(TransferIndex transfer);
  /// The sender paces it at the rate of this number. Nothing happens for numbers but the last, and
  /// for transfers that have ended.
  void Confirm(TransferIndex transfer, std::int32_t number);
  /// Its sender cannot change its rate: it keeps the one that it may still have, to its end.
  void Fix(TransferIndex transfer);

  /// What is to be done now: those that begin, and those under way whose rate changes.
  struct Turn {
    std::vector<RateOrder> begin;
    std::vector<RateOrder> change;
  };
  /// One that `may_begin` does not let when ports and cuts are divided waits without a share, until
  /// it may or they are divided anew; it is asked once more right before `begins` is told.
  Turn Take(
      Seconds now_s,
      absl::FunctionRef<bool(TransferIndex)> may_begin = [](TransferIndex) { return true; },
      absl::FunctionRef<void(TransferIndex)> begins = [](TransferIndex) {});

  /// As the rates say: which transfer ends first, and when. Nothing: none is under way.
  struct NextEnd {
    TransferIndex transfer = kNoIndex;
    Seconds at_s = 0;
  };
  std::optional<NextEnd> FindNextEnd() const;
  /// What is under way, for whoever goes on with another plan. Requires: it has begun.
  struct UnderWay {
    RateOrder order;
    double held_bytes_per_s = 0;
    Bytes bytes_left = 0;
  };
  std::optional<UnderWay> Look(TransferIndex transfer, Seconds now_s) const;

 private:
  struct Share {
    double left = 0;    // bytes, times the lag of its ports; below 0: it is overdue
    double rate = 0;    // once it has begun: what its sender was told last
    double held = 0;    // and what it may still send at
    double wanted = 0;  // as divided last; of one that was expected: kept for it
    std::int32_t number = 0;
    bool expected = false;
    bool put_off = false;  // might not begin at the last division
    bool begun = false;
    bool fixed = false;
    Seconds flows_from_s = 0;
  };

  absl::Span<const std::int32_t> UsesOf(TransferIndex transfer) const;
  double LagOf(TransferIndex transfer) const;
  void Flow(Seconds now_s);
  /// Whether the ports and cuts have this much more than what is held.
  bool HasRoom(TransferIndex transfer, double more) const;
  void Hold(TransferIndex transfer, Share& share, double bytes_per_s);
  /// Begins with what is wanted for it, if that is free.
  void TryBegin(TransferIndex transfer, Share& share, Turn* turn,
                absl::FunctionRef<bool(TransferIndex)> may_begin,
                absl::FunctionRef<void(TransferIndex)> begins);
  void Divide(absl::FunctionRef<bool(TransferIndex)> may_begin);
  /// Returns those that are given a rate anew, and takes off `capacity` what the others keep.
  std::vector<TransferIndex> Admit(std::vector<double>* capacity) const;
  /// The least that it may be given.
  double LeastOf(TransferIndex transfer) const;
  /// Writes `rate_of_` of these.
  void ShareByBytesLeft(std::vector<TransferIndex> pool, std::vector<double> capacity);
  /// Leaves them no more than what ends together with the last of them.
  void EndTogether(const std::vector<TransferIndex>& pool);
  /// `capacity`: what neither they nor others have.
  void RaiseOverdue(std::vector<double> capacity);
  bool KeepsRate(const Share& share) const;
  void Comes(TransferIndex transfer);
  std::int32_t LayerOf(TransferIndex transfer) const;
  /// Whether all of the layers of these are there, or expected.
  bool AllHaveCome(const std::vector<TransferIndex>& pool) const;

  const Plan& plan_;
  SharingProblem resources_;                      // capacity: what paced transfers may take
  std::vector<double> held_;                      // by port or cut
  std::vector<double> rate_of_, weight_of_;       // by transfer; of the division under way
  std::map<TransferIndex, Share> shares_;         // waiting, or under way
  std::vector<bool> has_come_;                    // by transfer
  std::map<std::int32_t, std::int32_t> to_come_;  // by layer
  bool changed_ = false;                          // somebody came or went since the last division
  Seconds now_s_ = 0;
};

}  // namespace weir::planner
