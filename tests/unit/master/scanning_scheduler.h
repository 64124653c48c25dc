#pragma once

// The rules of TransferScheduler as its header states them: every question is answered by looking
// at every transfer. Slow, and the oracle of transfer_scheduler_property_test.cc.

#include <map>
#include <optional>
#include <vector>

#include "planner/plan/cut_lanes.h"
#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"
#include "runtime/master/share/transfer_gate.h"

namespace weir::master {

/// Requires: not kFetchAll.
class ScanningScheduler {
 public:
  /// `gate`: as TransferScheduler's.
  ScanningScheduler(const planner::Plan& plan, const planner::Prediction& prediction,
                    TransferGate* gate = nullptr);

  void SetReady(planner::TransferIndex transfer);
  void Pass(planner::TransferIndex transfer);
  std::vector<planner::TransferIndex> TakeStartable(planner::Seconds now_s, double pace);
  std::optional<planner::Seconds> next_late_s() const { return next_late_s_; }

 private:
  enum class State { kWaiting, kReady, kMoving, kPassed };
  struct Order {
    std::vector<planner::TransferIndex> transfers;
    bool port = false;
  };

  bool Crosses(planner::TransferIndex transfer, std::size_t cut) const;
  std::int64_t LanesTaken(planner::TransferIndex transfer) const;
  std::int64_t FreeLanes(std::size_t cut) const;
  bool ResourcesFree(planner::TransferIndex transfer) const;
  bool MayGoNow(planner::TransferIndex transfer, planner::Seconds now_s, double pace);
  bool MayOvertake(planner::TransferIndex transfer, planner::TransferIndex before,
                   planner::Seconds now_s, double pace);
  planner::Seconds FreeAt(planner::TransferIndex transfer) const;
  planner::Seconds LateAt(planner::TransferIndex transfer, double pace) const;
  planner::Seconds PlannedSeconds(planner::TransferIndex transfer) const;
  std::vector<planner::TransferIndex> TakeInTurn(planner::Seconds now_s, double pace);
  std::optional<planner::TransferIndex> FirstStartable(planner::WorkerIndex sender,
                                                       planner::Seconds now_s, double pace);
  void NoteLate(planner::Seconds late_s);

  const planner::Plan& plan_;
  const planner::Prediction& prediction_;
  TransferGate* const gate_;
  const planner::CutLanes lanes_;
  std::vector<Order> orders_;
  std::vector<State> state_;
  std::map<planner::TransferIndex, planner::Seconds> moves_until_s_;
  std::optional<planner::Seconds> next_late_s_;
};

}  // namespace weir::master
