#pragma once

// The plan that the hand-made tests of edits begin with.

#include "planner/edit/edit_plan.h"
#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {

/// Three workers, a map step and a reduce step on each, no cut.
///
/// Hand solution: maps 0, 1, 2 read 300 bytes each from 0 to 10 s; sections of 100 bytes move in
/// two rounds, from 10 to 11 s (0 to 1, 1 to 2, 2 to 0) and from 11 to 12 s (0 to 2, 1 to 0, 2 to
/// 1); reduce steps 3, 4, 5 on workers 0, 1, 2 run from 12 to 15 s.
Plan ThreeByThree();

/// A plan, how far it is, and an edit of it.
struct EditCase {
  Plan before;
  PlanState state;
  PlanChange change;
  PlanEdit edit;
};

/// ThreeByThree at `now_s`, all having gone as predicted, and its edit.
EditCase LoseAt(Seconds now_s, std::vector<WorkerIndex> lost);

/// ThreeByThree before anything has begun, and its edit.
EditCase ChangeAtTheStart(PlanChange change);

}  // namespace weir::planner
