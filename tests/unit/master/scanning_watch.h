#pragma once

// StragglerWatch as its header says, by looking at every transfer and every pair of workers each
// time. Slow, and the oracle of straggler_watch_scan_test.cc.

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/types/span.h"
#include "planner/edit/plan_change.h"
#include "planner/edit/plan_state.h"
#include "planner/plan/plan.h"
#include "runtime/master/stragglers/straggler_watch.h"
#include "tests/unit/master/scanning_ports.h"

namespace weir::master {

class ScanningWatch {
 public:
  explicit ScanningWatch(const planner::Plan& plan);

  void Observe(const RunSoFar& run);
  WorkerRates Rates() const;
  /// Whether, and for whom, the plan should be edited now: somebody is behind, or has recovered,
  /// and has work left that makes it worth trying; whether it moves, EditPlan says. Whoever is
  /// named is not named again for kEditPauseS.
  std::optional<StragglerDecision> Decide();
  /// Goes on with the edited plan.
  void TakeEdit(const planner::Plan& plan, const planner::PlanState& state,
                absl::Span<const planner::TransferIndex> transfer_was,
                const planner::PlanChange& change);

 private:
  /// A step under way and what was heard of it.
  struct Heard {
    planner::Seconds at_s = 0;
    double share = 0;
  };
  struct UnderWay {
    planner::Seconds began_s = 0;
    std::deque<Heard> heard;  // each with a larger share than the one before
    planner::Seconds longest_gap_s = kHeardLateS;
  };
  struct Done {
    planner::Seconds planned_s = 0;
    planner::Seconds took_s = 0;
  };
  /// Steps that one prediction is about: layer, kind.
  using Alike = std::pair<std::int32_t, planner::StepKind>;
  /// How fast a worker computes beside the plan in hand.
  struct Compute {
    bool known = false;
    Alike alike = {0, planner::StepKind::kMap};
    double least = 1, most = 1;  // what it may be
    double rate = 1;             // with which its step under way ends when it will
    double lately = 1;           // the least that it may be now; of the rate in the end
    bool silent = false;
    planner::Seconds planned_s = 0;  // of what it has done
    planner::Seconds took_s = 0;
  };
  struct Worker {
    planner::StepIndex step = planner::kNoIndex;    // under way
    absl::btree_map<Alike, std::deque<Done>> done;  // the last
    Alike did = {0, planner::StepKind::kMap};       // last
    Compute compute;
    double planned_rate = 1;       // of the plan in hand, beside the first one
    double planned_port_rate = 1;  // the same of its ports
    // How long it has been a straggler, or none any more; of its ports.
    std::optional<planner::Seconds> behind_s, recovered_s, ports_behind_s, ports_recovered_s;
    std::optional<planner::Seconds> named_s;
    planner::Seconds left_s = 0;        // of its steps, by the plan in hand
    planner::Seconds ports_left_s = 0;  // of its transfers
  };

  void LookAtStep(const RunSoFar& run, std::size_t step);
  void LookAtTransfers(const RunSoFar& run);
  planner::Seconds PlannedSeconds(const RunSoFar& run, std::size_t step) const;
  static void CountDone(const Done& step, const Alike& alike, Worker* worker);
  Compute ComputeOf(const RunSoFar& run, const Worker& worker) const;
  Compute OfStepUnderWay(const UnderWay& step, planner::Seconds planned_s) const;
  static Compute OfStepsDone(const Worker& worker, const Alike& alike);
  /// Of the workers but this one, at steps like those that it is known by: the median of what is
  /// known; nothing while nothing is.
  std::optional<double> Others(std::size_t worker, double Compute::*rate) const;
  bool Behind(std::size_t worker) const;
  bool Recovered(std::size_t worker) const;
  double PortRate(std::size_t worker) const;
  double Pace(const std::vector<planner::WorkerIndex>& named) const;

  const planner::Plan* plan_;
  planner::Seconds now_s_ = 0;
  ScanningPorts ports_;
  std::vector<Worker> workers_;
  std::vector<planner::Seconds> planned_s_;  // by step, at the rates of the first plan
  std::vector<bool> counted_;                // by step: done, and its worker's rate knows
  absl::btree_map<planner::StepIndex, UnderWay> under_way_;
};

}  // namespace weir::master
