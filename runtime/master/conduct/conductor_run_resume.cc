// A run that goes on with what an earlier master left, or a worker that was killed, and what it
// leaves to the next master.

#include <algorithm>
#include <cstddef>
#include <utility>

#include "planner/plan/units.h"
#include "runtime/base/section_bytes.h"
#include "runtime/master/conduct/conductor_run.h"
#include "runtime/master/resume/restarted_worker.h"

namespace weir::master {

using planner::At;

std::vector<RunSection> ConductorRun::SectionsOf(const v1::RunInfo& run) {
  std::vector<RunSection> sections;
  for (const v1::RunSection& section : run.sections()) {
    sections.push_back(RunSection{section.consumer_step(), section.offset(), section.bytes(),
                                  UnpackedBytes(section)});
  }
  return sections;
}

void ConductorRun::TellCommitted(planner::StepIndex step, int attempt,
                                 const v1::StepResult& result) {
  v1::JournalRecord::StepCommitted committed;
  committed.set_plan_epoch(fence_.plan_epoch());
  committed.set_step(step);
  committed.set_attempt(attempt);
  committed.set_worker(WorkerOfStep(step));
  *committed.mutable_result() = result;
  if (result.has_run()) committed.mutable_result()->mutable_run()->clear_sections();
  committed.set_ended_s(conductor().progress().actual().steps[At(step)].finish_s);
  listener_.step_committed(std::move(committed));
}

void ConductorRun::Resume(const planner::PlanState& state, const std::vector<ResumedStep>& steps) {
  began_ = loop_.Now() + -absl::Seconds(state.now_s);
  gone_ = gone_before_edit_ = state.gone;
  std::vector<EarlierStep> earlier;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const auto step = static_cast<planner::StepIndex>(s);
    const v1::StepResult& result = steps[s].result;
    earlier.push_back({steps[s].attempt, result.input_bytes(), SectionsOf(result.run())});
    if (state.steps[s] != planner::WorkState::kDone) continue;
    runs_.Add({step, steps[s].attempt}, result.run());
    step_bytes_done_[s] = result.input_bytes();
    // They were not too many before.
    (void)Count(step, result);
  }
  JoinPorts(*now_);
  now_->conductor.emplace(plan(), now_->planned->prediction, DomainsOf(workers_),
                          PlanProgress(plan(), state, std::move(earlier)), state.now_s, loop_.Now(),
                          &now_->ports);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const bool done = state.steps[s] == planner::WorkState::kDone;
    if (done && !steps[s].committed) {
      TellCommitted(static_cast<planner::StepIndex>(s), steps[s].attempt, steps[s].result);
    }
  }
  CarryOut(conductor().Wake(loop_.Now()));
}

int ConductorRun::WorkerRestarted(planner::WorkerIndex worker, const v1::HeldJob* held) {
  gone_[At(worker)] = back_[At(worker)] = false;
  const auto add = [](const auto& more, auto& all) {
    all.insert(all.end(), more.begin(), more.end());
  };
  const std::vector<planner::StepIndex> over = conductor().WorkerRestarted(worker);
  for (const planner::StepIndex step : over) Forget(step);
  add(over, attempts_over_);
  std::vector<int> attempts;
  for (std::size_t s = 0; s < plan().steps.size(); ++s) {
    attempts.push_back(conductor().progress().step_attempt(static_cast<planner::StepIndex>(s)));
  }
  const RestartLoss loss = LossOfRestart(plan(), StateNow(), attempts, worker, held);
  add(loss.runs_lost, faults_.runs_lost);
  add(loss.sections_lost, faults_.sections_lost);
  for (const v1::HeldRun* run : loss.runs_kept) {
    // It lies in another directory now.
    runs_.Add({run->result().step(), run->attempt()}, run->result().run());
  }
  return static_cast<int>(loss.runs_kept.size());
}

absl::Duration ConductorRun::RedoTime(planner::WorkerIndex worker) const {
  const auto others = std::count(gone_.begin(), gone_.end(), false);
  return absl::Seconds(RedoSeconds(plan(), StateNow(), worker) /
                       static_cast<double>(std::max<std::ptrdiff_t>(1, others)));
}

}  // namespace weir::master
