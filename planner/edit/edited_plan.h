#pragma once

// The plan after an edit, before its orders: what stays, what is done again and where. Upstream:
// EditPlan. Downstream: order_rest.

#include <vector>

#include "planner/edit/plan_state.h"
#include "planner/edit/step_homes.h"
#include "planner/edit/work_left.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Plain data. `plan` has steps, sections and transfers (done ones first, then those under way,
/// then the others, by layer and in rotation), compute_order, and of the transfer and store orders
/// only what is done.
struct EditedPlan {
  Plan plan;
  PlanState state;
  std::vector<TransferIndex> transfer_was;  // done and under way ones: index before; kNoIndex
  Bytes moved_again = 0;                    // had arrived, and must move once more
};

/// Applies the homes to a plan.
///
/// Model: a step that has to begin reads in place what its worker makes or keeps, and gets the rest
///   by transfers: sections that had arrived whole with it stay, pieces that are done or under way
///   between a run and a reader that both stay count, and what is missing of a section are as few
///   transfers as there are gaps. Transfers to steps that run elsewhere or again are dropped.
/// A plan that combined in the strict order of its builder overtakes from now on: what is made
/// again comes when it comes. Operands of a step stay in their order, parts where the whole stood.
/// A step that moves puts on disk what steps of its kind and layer do at its new worker, in
///   proportion to what they read: that one has another memory. Where it has none, what it would
///   have at its old one. Durations are those of the homes, which know nothing of it.
/// Thread-safety: pure. O((steps + sections + transfers) log).
EditedPlan ApplyHomes(const Plan& plan, const PlanState& state, const WorkLeft& left,
                      const std::vector<std::vector<StepHome>>& homes);

}  // namespace weir::planner
