#pragma once

// How far a plan is that an earlier master ran, from what its journal and its workers know. Pure.
// Upstream: JobRun. Downstream: EditPlan, ConductorRun::Resume.

#include <vector>

#include "planner/edit/plan_state.h"
#include "planner/plan/plan.h"
#include "runtime/master/resume/journalled_run.h"
#include "weir/v1/services.pb.h"

namespace weir::master {

/// What is known of a step.
struct ResumedStep {
  int attempt = 0;         // the highest that is known; 0: none
  v1::StepResult result;   // of a step that is done
  bool committed = false;  // the journal says so
};

/// A plan and how far it is. Plain data.
struct ResumedRun {
  planner::PlanState state;        // of the plan; nothing has moved
  std::vector<ResumedStep> steps;  // by step
  int runs_kept = 0;
};

/// Runs that do not count once the plan is gone on with as it is `after` its edit.
/// Returns: by step, the highest attempt of them; 0 where the step is done, as one attempt counts
/// of each, or none is known. A step that was given another part of the input could else be taken
/// for done by the next master, because its worker may keep a run of what the step was before.
/// `steps`: of ResumedRun. Requires: as many steps as `steps` has, or more. Thread-safety: pure.
/// Checked by: tests/unit/master/resumed_run_test.cc, conductor_edits_property_test.cc.
std::vector<int> StaleAttempts(const std::vector<ResumedStep>& steps,
                               const planner::PlanState& after);

/// Puts together what is done.
///
/// Model: a step is done if its worker holds its run, and was ordered to make it after the last
///   edit that had the step done again, by an attempt that is not stale; whether the earlier master
///   heard of that does not matter. A step that was committed and whose run nobody holds is done as
///   well: EditPlan has it done again if somebody lacks a section. Not so the steps that made a
///   part, which went with the staging directory. What workers had received is not counted: it
///   moves again.
/// `held`, by worker of the plan: what it holds of this run; null: it is not there, or holds
///   nothing. A run that has bytes for steps which read nothing of it does not count.
/// `now_s`: since the start of the run; grows to the last end that is known.
/// Thread-safety: pure. O(steps + sections log + runs).
/// Checked by: tests/unit/master/resumed_run_test.cc.
ResumedRun ResumeRun(const planner::Plan& plan, const JournalledRun& run,
                     const std::vector<const v1::HeldJob*>& held, planner::Seconds now_s);

}  // namespace weir::master
