#pragma once

// What a worker of a plan that runs has lost by being killed, where it is back at once with runs
// that it kept. Pure. Upstream: ConductorRun. Downstream: EditPlan.

#include <vector>

#include "planner/edit/plan_change.h"
#include "planner/edit/plan_state.h"
#include "planner/plan/plan.h"
#include "weir/v1/services.pb.h"

namespace weir::master {

/// Plain data.
struct RestartLoss {
  std::vector<planner::StepIndex> runs_lost;                  // rising
  std::vector<planner::PlanChange::SectionOf> sections_lost;  // each once
  std::vector<const v1::HeldRun*> runs_kept;                  // of those told
};

/// Says which of what was done there has to be done again if somebody needs it.
///
/// Model: a run that the worker made is kept if it holds that of the attempt that counts; the
///   ledger has heard of it, or somebody makes it anew. What others had sent is gone, which matters
///   to steps that have not begun.
/// `state`: of the plan; nothing is under way at the worker, or from or to it. `attempts`, by step:
/// the last one. `held`: what the worker told of this plan; null: nothing.
/// Thread-safety: pure. O((steps + transfers) log + runs).
/// Checked by: tests/unit/master/restarted_worker_test.cc, conductor_edits_property_test.cc.
RestartLoss LossOfRestart(const planner::Plan& plan, const planner::PlanState& state,
                          const std::vector<int>& attempts, planner::WorkerIndex worker,
                          const v1::HeldJob* held);

/// Returns how long steps took that are done on this worker and whose runs somebody has yet to read
/// from there: what its loss costs, apart from what moves again.
planner::Seconds RedoSeconds(const planner::Plan& plan, const planner::PlanState& state,
                             planner::WorkerIndex worker);

}  // namespace weir::master
