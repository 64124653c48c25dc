#pragma once

// How far a plan is. Upstream: whoever runs it (runtime/master/conduct), or EditPlan. Downstream:
// EditPlan, CheckEdit.

#include <vector>

#include "absl/status/status.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Where one step or transfer is.
enum class WorkState {
  kWaiting,   // has not begun
  kUnderWay,  // a step that runs, with all it reads; a transfer that was granted
  kDone,  // a step whose run is published or whose part is stored; a transfer that arrived whole
};

/// What has happened of a plan. Times are seconds since the start of the run. Plain data.
struct PlanState {
  Seconds now_s = 0;
  std::vector<WorkState> steps;      // by step
  std::vector<WorkState> transfers;  // by transfer
  /// By step and by transfer; -1: not yet.
  std::vector<Seconds> step_began_s, step_ended_s;
  std::vector<Seconds> transfer_began_s, transfer_ended_s;
  /// By step: it is done, and its run still lies whole on its worker.
  std::vector<bool> run_there;
  /// By worker: lost in an earlier edit, so that it gets nothing. Empty: none.
  std::vector<bool> gone;
};

/// Returns the state of a plan that has not begun.
PlanState NothingDone(const Plan& plan);

/// Checks that there is one entry an item, that begun and ended times are where they must be, and
/// that nothing has begun before what it waits for was done.
/// Errors: kInvalidArgument naming the item.
/// Thread-safety: pure. O(steps + transfers + dependencies).
absl::Status CheckState(const Plan& plan, const PlanState& state);

}  // namespace weir::planner
