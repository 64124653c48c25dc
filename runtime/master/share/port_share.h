#pragma once

// One job's part of the ports: its plan in the terms of PortArbiter. Upstream: ConductorRun (its
// life), TransferScheduler (questions). Downstream: PortArbiter.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"
#include "runtime/master/share/port_arbiter.h"
#include "runtime/master/share/transfer_gate.h"

namespace weir::master {

/// Takes part in the ports from Begin to its destruction.
///
/// What is handed over in place uses no ports, and may always move.
/// Requires: the arbiter outlives it. Thread-safety: as PortArbiter.
/// Checked by: tests/unit/master/several_conductors_property_test.cc.
class PortShare final : public TransferGate {
 public:
  /// `workers`, `domains`: ids and hand-over domains, by place in the plan. `now` is asked when it
  /// goes.
  PortShare(PortArbiter& arbiter, const planner::Plan& plan, const planner::Prediction& prediction,
            std::vector<WorkerId> workers, std::vector<std::string> domains,
            std::function<MonoTime()> now);
  ~PortShare() override;
  PortShare(const PortShare&) = delete;
  PortShare& operator=(const PortShare&) = delete;

  /// Comes in; `wake` as in PortArbiter::Join. `began`: the start of the run, from which times of
  /// turns count. Call once, before any turn.
  void Begin(double weight, MonoTime began, std::function<void()> wake);
  /// Wants nothing any more; what moves keeps its ports until the job is gone.
  void Stop();

  void BeginTurn(planner::Seconds now_s) override;
  void EndTurn() override;
  bool MayMove(planner::TransferIndex transfer) override;
  bool shares_cuts() const override { return arbiter_.shares_cuts(); }
  void Moves(planner::TransferIndex transfer, planner::Seconds seconds) override;
  void Passed(planner::TransferIndex transfer) override;
  std::optional<planner::Seconds> next_look_s() const override { return next_look_s_; }

 private:
  bool InPlace(planner::TransferIndex transfer) const;

  PortArbiter& arbiter_;
  const planner::Plan& plan_;
  const planner::Prediction& prediction_;
  const std::vector<WorkerId> workers_;
  const std::vector<std::string> domains_;
  const std::function<MonoTime()> now_;
  std::optional<PortArbiter::JobId> job_;
  MonoTime began_;
  planner::Seconds turn_s_ = 0;
  std::optional<planner::Seconds> next_look_s_;
};

}  // namespace weir::master
