#pragma once

// How far a plan is if all goes as predicted. For tests of edits, and their bench.

#include "planner/edit/plan_state.h"
#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {

/// When a run is removed.
enum class RunsStay {
  kToTheEnd,
  kUntilRead,  // by all steps that read it
};

/// Returns the state of the plan at `until_s`, going on from `state`: what is predicted to end by
/// then is done, what is predicted to begin before is under way.
PlanState ProgressOf(const Plan& plan, const Prediction& prediction, PlanState state,
                     Seconds until_s, RunsStay runs);

}  // namespace weir::planner
