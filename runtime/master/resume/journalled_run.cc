#include "runtime/master/resume/journalled_run.h"

#include <algorithm>

#include "planner/plan/step_kind.h"

namespace weir::master {
namespace {

// As far as kinds of steps tell; whether it can be edited, EditPlan finds out.
bool MayBeEdited(const v1::Plan& plan) {
  return std::all_of(plan.steps().begin(), plan.steps().end(), [](const v1::ComputeStep& step) {
    const std::optional<planner::StepKind> kind = planner::StepKindOf(step.kind());
    return kind && !(*kind)->iterates;
  });
}

void TakePlan(const v1::JournalRecord::JobPlanned& planned, std::optional<JournalledRun>& run) {
  const bool edited = run && planned.plan_edit() > 0 && planned.plan_epoch() == run->plan_epoch;
  const bool goes_on = run && (edited || planned.resumed());
  if (!goes_on) run.emplace();
  run->plan = planned.plan();
  run->master_epoch = planned.master_epoch();
  run->plan_epoch = planned.plan_epoch();
  run->input_fingerprint = planned.input_fingerprint();
  if (!edited) {
    run->redone_by_edit.clear();
    run->stale_attempts.clear();
    for (std::int32_t step = 0; step < planned.stale_attempts_size(); ++step) {
      if (planned.stale_attempts(step) > 0)
        run->stale_attempts[step] = planned.stale_attempts(step);
    }
  }
  for (const std::int32_t step : planned.steps_redone()) {
    run->committed.erase(step);
    if (edited) run->redone_by_edit[step] = planned.plan_edit();
  }
}

}  // namespace

std::optional<JournalledRun> LastRun(const std::vector<v1::JournalRecord>& records) {
  std::optional<JournalledRun> run;
  for (const v1::JournalRecord& record : records) {
    if (record.has_job_planned()) {
      TakePlan(record.job_planned(), run);
    } else if (record.has_step_committed()) {
      const v1::JournalRecord::StepCommitted& committed = record.step_committed();
      if (run && committed.plan_epoch() == run->plan_epoch) {
        run->committed[committed.step()] = committed;
      }
    } else if (record.has_job_state_changed()) {
      const v1::JournalRecord::JobStateChanged& change = record.job_state_changed();
      if (run && change.state() == v1::JOB_STATE_RUNNING && run->began_unix_ms == 0) {
        run->began_unix_ms = change.unix_ms();
      }
    }
  }
  if (run && (run->master_epoch == 0 || !MayBeEdited(run->plan))) return std::nullopt;
  return run;
}

}  // namespace weir::master
