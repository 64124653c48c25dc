#include "runtime/master/resume/restarted_worker.h"

#include <cstddef>
#include <set>
#include <utility>

#include "planner/plan/units.h"
#include "runtime/base/run_id.h"

namespace weir::master {

using planner::At;
using planner::StepIndex;
using planner::WorkState;

RestartLoss LossOfRestart(const planner::Plan& plan, const planner::PlanState& state,
                          const std::vector<int>& attempts, planner::WorkerIndex worker,
                          const v1::HeldJob* held) {
  RestartLoss loss;
  std::set<StepIndex> kept;
  for (int i = 0; held != nullptr && i < held->runs_size(); ++i) {
    const v1::HeldRun& run = held->runs(i);
    const StepIndex step = run.result().step();
    if (step < 0 || At(step) >= plan.steps.size()) continue;
    if (plan.steps[At(step)].worker != worker) continue;
    const bool counts = state.steps[At(step)] == WorkState::kDone && state.run_there[At(step)] &&
                        run.attempt() == attempts[At(step)] &&
                        run.result().run().run_id() == RunIdOf(step, run.attempt());
    if (counts && kept.insert(step).second) loss.runs_kept.push_back(&run);
  }
  std::set<StepIndex> made;  // there, and there is somebody who reads it
  for (const planner::Section& section : plan.sections) {
    const std::size_t producer = At(section.producer);
    const bool there = plan.steps[producer].worker == worker && state.run_there[producer];
    if (there) made.insert(section.producer);
  }
  for (const StepIndex step : made) {
    if (!kept.contains(step)) loss.runs_lost.push_back(step);
  }
  std::set<std::pair<StepIndex, StepIndex>> sections;
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    const planner::Transfer& moved = plan.transfers[t];
    const bool lost = moved.receiver == worker && state.transfers[t] == WorkState::kDone &&
                      state.steps[At(moved.consumer)] == WorkState::kWaiting;
    if (lost && sections.emplace(moved.producer, moved.consumer).second) {
      loss.sections_lost.push_back({moved.producer, moved.consumer});
    }
  }
  return loss;
}

planner::Seconds RedoSeconds(const planner::Plan& plan, const planner::PlanState& state,
                             planner::WorkerIndex worker) {
  std::set<StepIndex> lacked;
  for (const planner::Section& section : plan.sections) {
    const std::size_t producer = At(section.producer);
    const std::size_t consumer = At(section.consumer);
    const bool in_place = plan.steps[consumer].worker == worker;
    if (plan.steps[producer].worker == worker && state.run_there[producer] && in_place &&
        state.steps[consumer] == WorkState::kWaiting) {
      lacked.insert(section.producer);
    }
  }
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    const planner::Transfer& moved = plan.transfers[t];
    const bool there =
        plan.steps[At(moved.producer)].worker == worker && state.run_there[At(moved.producer)];
    if (there && state.transfers[t] != WorkState::kDone) lacked.insert(moved.producer);
  }
  planner::Seconds redo_s = 0;
  for (const StepIndex step : lacked) {
    redo_s += state.step_ended_s[At(step)] - state.step_began_s[At(step)];
  }
  return redo_s;
}

}  // namespace weir::master
