#pragma once

// What is known of a run from look to look. Upstream: ConductorMachine. Downstream: StragglerWatch.

#include <vector>

#include "planner/edit/plan_state.h"
#include "planner/plan/plan.h"

namespace weir::master {

/// How far one conductor is, for whoever looks often: a shuffle of 500 workers has 250 000
/// transfers, of which few move on between two looks. Plain data; ConductorMachine::Look fills it.
struct WatchedState {
  /// Of a plan that a conductor begins, or goes on with after an edit.
  explicit WatchedState(const planner::Plan& plan)
      : state(planner::NothingDone(plan)), granted(plan.transfers.size(), 0) {}

  planner::PlanState state;                      // but for run_there and gone
  std::vector<planner::Bytes> granted;           // by transfer that is not waiting
  std::vector<planner::TransferIndex> moved_on;  // since the look before
};

}  // namespace weir::master
