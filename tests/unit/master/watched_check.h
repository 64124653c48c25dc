#pragma once

// That what a conductor tells a watch from look to look is how far it is. For tests of conductors.

#include <cstddef>

#include "planner/plan/units.h"
#include "runtime/master/conduct/conductor_machine.h"
#include "runtime/master/stragglers/watched_state.h"

namespace weir::master {

/// Looks, and holds what it sees against the whole ledger.
inline bool SeesHowFarItIs(ConductorMachine& conductor, planner::Seconds now_s,
                           WatchedState* watched) {
  const RunSoFar seen = conductor.Look({}, now_s, watched);
  const planner::PlanState is = conductor.progress().StateAt(now_s);
  bool right = seen.state.now_s == now_s && seen.state.steps == is.steps &&
               seen.state.step_began_s == is.step_began_s &&
               seen.state.step_ended_s == is.step_ended_s && seen.state.transfers == is.transfers &&
               seen.state.transfer_began_s == is.transfer_began_s &&
               seen.state.transfer_ended_s == is.transfer_ended_s;
  for (std::size_t t = 0; t < is.transfers.size(); ++t) {
    if (is.transfers[t] == planner::WorkState::kWaiting) continue;
    const auto transfer = static_cast<planner::TransferIndex>(t);
    right = right && seen.transfer_bytes[t] == conductor.transfer_bytes(transfer);
  }
  return right;
}

}  // namespace weir::master
