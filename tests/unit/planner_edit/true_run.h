#pragma once

// Executes a plan in its order while workers, ports and steps are not as fast as planned. Pure. For
// tests of edits and of what asks for them, and their bench.

#include <cstdint>
#include <vector>

#include "planner/edit/edit_plan.h"
#include "planner/edit/plan_change.h"
#include "planner/edit/plan_state.h"
#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {

/// How reality differs from the first plan.
struct Reality {
  /// By worker: how fast it computes, and its ports carry, beside that plan. Empty: as planned.
  /// Where ports differ nothing waits for channels of cuts.
  std::vector<double> rate = {};
  std::vector<double> port_rate = {};
  /// Each step takes 1 - noise to 1 + noise times as long, each transfer moves as many bytes.
  double noise = 0;
  std::uint64_t seed = 1;
};

/// A run of a plan, and of what edits make of it.
class TrueRun {
 public:
  TrueRun(Plan plan, Reality reality);

  /// What has happened by `until_s`, which does not go backwards.
  void Advance(Seconds until_s);
  const Plan& plan() const { return plan_; }
  const PlanState& state() const { return state_; }
  Seconds makespan_s() const { return times_.makespan_s; }
  const Prediction& times() const { return times_; }
  bool finished() const { return state_.now_s >= times_.makespan_s; }
  /// By step under way: input read by half a second ago, in blocks of a 1024th.
  std::vector<Bytes> BytesHeard() const;
  /// Goes on with an edit of plan() at state().
  void TakeEdit(const PlanEdit& edit, const PlanChange& change);

 private:
  double Noise(std::uint64_t item) const;
  void FindTimes();

  Plan plan_;
  const NetworkModel network_;  // of the first plan
  const Reality reality_;
  PlanState state_;
  std::vector<double> planned_rate_;  // by worker: of plan_, beside the first plan
  std::vector<Seconds> seconds_;      // by step: how long it takes where it is
  Prediction times_;
};

}  // namespace weir::planner
