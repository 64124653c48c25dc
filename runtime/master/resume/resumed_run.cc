#include "runtime/master/resume/resumed_run.h"

#include <algorithm>
#include <set>
#include <utility>

#include "planner/plan/units.h"
#include "runtime/base/run_id.h"

namespace weir::master {

using planner::At;
using planner::Seconds;
using planner::StepIndex;

namespace {

class Resuming {
 public:
  Resuming(const planner::Plan& plan, const JournalledRun& run, Seconds now_s)
      : plan_(plan), run_(run) {
    for (const planner::Section& section : plan.sections) {
      read_.emplace(section.producer, section.consumer);
    }
    resumed_.state = planner::NothingDone(plan);
    resumed_.steps.resize(plan.steps.size());
    for (const auto& [step, committed] : run.committed) {
      now_s = std::max(now_s, committed.ended_s());
    }
    resumed_.state.now_s = now_s;
    for (const auto& [step, attempt] : run.stale_attempts) {
      if (At(step) < resumed_.steps.size()) KnowAttempt(step, attempt);
    }
  }

  void TakeHeld(planner::WorkerIndex worker, const v1::HeldRun& held) {
    const StepIndex step = held.result().step();
    if (At(step) >= plan_.steps.size()) return;
    KnowAttempt(step, held.attempt());
    if (plan_.steps[At(step)].worker != worker || !Counts(step, held)) return;
    const auto committed = run_.committed.find(step);
    const bool told = committed != run_.committed.end();
    // One attempt counts of each step.
    if (told && committed->second.attempt() != held.attempt()) return;
    Finish(step, held.result(), told ? committed->second.ended_s() : resumed_.state.now_s);
    resumed_.steps[At(step)].committed = told;
    resumed_.state.run_there[At(step)] = true;
    ++resumed_.runs_kept;
  }

  void TakeCommitted(StepIndex step, const v1::JournalRecord::StepCommitted& committed) {
    if (At(step) >= plan_.steps.size()) return;
    KnowAttempt(step, committed.attempt());
    const bool done = resumed_.state.steps[At(step)] == planner::WorkState::kDone;
    if (done || !committed.result().has_run()) return;
    Finish(step, committed.result(), committed.ended_s());
    resumed_.steps[At(step)].committed = true;
  }

  ResumedRun Take() { return std::move(resumed_); }

 private:
  void KnowAttempt(StepIndex step, int attempt) {
    int& highest = resumed_.steps[At(step)].attempt;
    highest = std::max(highest, attempt);
  }

  bool Counts(StepIndex step, const v1::HeldRun& held) const {
    const v1::RunInfo& info = held.result().run();
    if (info.run_id() != RunIdOf(step, held.attempt())) return false;
    const auto redone = run_.redone_by_edit.find(step);
    if (redone != run_.redone_by_edit.end() && held.plan_edit() < redone->second) return false;
    const auto stale = run_.stale_attempts.find(step);
    if (stale != run_.stale_attempts.end() && held.attempt() <= stale->second) return false;
    return std::all_of(info.sections().begin(), info.sections().end(),
                       [&](const v1::RunSection& section) {
                         // Of older workers: also what was asked of them for nobody.
                         return section.bytes() == 0 || section.consumer_step() < 0 ||
                                read_.contains({step, section.consumer_step()});
                       });
  }

  void Finish(StepIndex step, const v1::StepResult& result, Seconds ended_s) {
    planner::PlanState& state = resumed_.state;
    state.steps[At(step)] = planner::WorkState::kDone;
    state.step_ended_s[At(step)] = ended_s;
    state.step_began_s[At(step)] = std::clamp(ended_s - result.run_s(), 0.0, ended_s);
    resumed_.steps[At(step)].result = result;
  }

  const planner::Plan& plan_;
  const JournalledRun& run_;
  std::set<std::pair<StepIndex, StepIndex>> read_;  // producer, consumer
  ResumedRun resumed_;
};

}  // namespace

std::vector<int> StaleAttempts(const std::vector<ResumedStep>& steps,
                               const planner::PlanState& after) {
  std::vector<int> stale;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    stale.push_back(after.steps[s] == planner::WorkState::kDone ? 0 : steps[s].attempt);
  }
  return stale;
}

ResumedRun ResumeRun(const planner::Plan& plan, const JournalledRun& run,
                     const std::vector<const v1::HeldJob*>& held, Seconds now_s) {
  Resuming resuming(plan, run, std::max(0.0, now_s));
  for (std::size_t w = 0; w < held.size(); ++w) {
    if (held[w] == nullptr) continue;
    for (const v1::HeldRun& one : held[w]->runs()) {
      resuming.TakeHeld(static_cast<planner::WorkerIndex>(w), one);
    }
  }
  for (const auto& [step, committed] : run.committed) resuming.TakeCommitted(step, committed);
  return resuming.Take();
}

}  // namespace weir::master
