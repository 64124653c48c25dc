#pragma once

// Which transfers of a plan by rates may begin. Upstream: Predict, TransferScheduler
// (runtime/master). Downstream: fair_sharing (which ports and cuts a transfer uses).

#include <cstdint>
#include <set>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "planner/plan/plan.h"
#include "planner/plan/predict/fair_sharing.h"

namespace weir::planner {

/// Keeps what is left of the rates of ports and cuts while the transfers of a kRates plan come and
/// go, each at one rate (else RateAllocation).
///
/// Model: a transfer takes Transfer::rate_bytes_per_s of its sender's port out, of its receiver's
///   port in and of every cut that it crosses, from its begin to its end. Of those that wait, each
///   that finds its rate left everywhere begins, the lowest index first; one that does not holds up
///   nobody behind it. So the rates never add up to more than PacedBytesPerS (but for 1e-9 of it,
///   which is rounding), and whoever waits begins at the latest when nothing else moves.
///   With Plan::port_lanes, one that waits or is expected keeps its place: another begins when its
///   ports and cuts have its rate left beside those of all that wait or are expected there before
///   it. So nobody is put off by who comes later in the plan, whose run may be there earlier.
/// Requires: CheckStructure accepts the plan, which outlives this. Of others nothing is called.
/// Thread-safety: none. One that waits is looked at again only when the port or cut that it lacked
///   gets something back; then in O(cuts + log transfers), where places are kept in O(cuts * those
///   that a port or cut has room for).
/// Checked by: tests/unit/planner_job/rates_property_test.cc (beside a sweep that knows nothing of
///   this), tests/unit/master/conductor_machine_property_test.cc.
class RateRoom {
 public:
  explicit RateRoom(const Plan& plan);

  /// Its run will be there: its place is kept. Nothing without Plan::port_lanes.
  void Expect(TransferIndex transfer);
  /// Nobody is expected any more; what waits may begin.
  void ForgetExpected();
  /// Its run is there: it waits for room only.
  void Wait(TransferIndex transfer);
  /// It waits no more, or is no more expected, and has not begun. Idempotent.
  void Withdraw(TransferIndex transfer);
  /// It is under way already, whether there is room or not.
  void Begin(TransferIndex transfer);
  /// It gives back what it took. Requires: it has begun.
  void End(TransferIndex transfer);
  /// Begins, and returns in order, all that may begin now and that `may_begin` lets; one that it
  /// does not let waits on.
  std::vector<TransferIndex> TakeStartable(absl::FunctionRef<bool(TransferIndex)> may_begin =
                                               [](TransferIndex) { return true; });

 private:
  absl::Span<const std::int32_t> UsesOf(TransferIndex transfer) const;
  /// The first port or cut that has not its rate left; kNoIndex: none.
  std::int32_t Lacks(TransferIndex transfer) const;
  /// Where places are kept: calls `visit` for each that waits there and that it has room for,
  /// the first in the plan first, until that returns false.
  template <typename Visit>
  void ForEachFitting(std::int32_t use, const Visit& visit) const;
  void LookAgain(std::int32_t use);

  const Plan& plan_;
  const bool keeps_places_;
  SharingProblem resources_;  // capacity: what paced transfers may take
  std::vector<double> taken_bytes_per_s_;
  std::vector<std::int32_t> num_users_;
  std::set<TransferIndex> to_look_at_;
  /// By port or cut: those that wait for it; where places are kept, all of its own that wait or are
  /// expected.
  std::vector<std::set<TransferIndex>> lacking_;
  std::set<TransferIndex> expected_;
  std::vector<std::int32_t> lacks_;  // by transfer; kNoIndex: it waits for none
};

}  // namespace weir::planner
