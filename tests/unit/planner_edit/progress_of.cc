#include "tests/unit/planner_edit/progress_of.h"

#include <cstddef>
#include <vector>

#include "planner/plan/units.h"

namespace weir::planner {
namespace {

void Advance(const Interval& interval, Seconds until_s, WorkState* work, Seconds* began_s,
             Seconds* ended_s) {
  if (*work == WorkState::kDone) return;
  if (interval.finish_s <= until_s) {
    *work = WorkState::kDone;
    *began_s = interval.start_s;
    *ended_s = interval.finish_s;
  } else if (interval.start_s < until_s) {
    *work = WorkState::kUnderWay;
    *began_s = interval.start_s;
  }
}

}  // namespace

PlanState ProgressOf(const Plan& plan, const Prediction& prediction, PlanState state,
                     Seconds until_s, RunsStay runs) {
  const std::vector<WorkState> was = state.steps;
  state.now_s = until_s;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    Advance(prediction.steps[s], until_s, &state.steps[s], &state.step_began_s[s],
            &state.step_ended_s[s]);
    if (was[s] != WorkState::kDone && state.steps[s] == WorkState::kDone) {
      state.run_there[s] = true;
    }
  }
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    Advance(prediction.transfers[t], until_s, &state.transfers[t], &state.transfer_began_s[t],
            &state.transfer_ended_s[t]);
  }
  if (runs == RunsStay::kToTheEnd) return state;
  std::vector<bool> read(plan.steps.size(), false), wanted(plan.steps.size(), false);
  for (const Section& section : plan.sections) {
    read[At(section.producer)] = true;
    if (state.steps[At(section.consumer)] != WorkState::kDone) wanted[At(section.producer)] = true;
  }
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (read[s] && !wanted[s]) state.run_there[s] = false;
  }
  return state;
}

}  // namespace weir::planner
