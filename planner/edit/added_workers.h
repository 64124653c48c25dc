#pragma once

// Workers that a plan which runs does not know yet. Upstream: ApplyChange. Downstream: FindHomes.

#include "absl/status/status.h"
#include "planner/edit/plan_change.h"
#include "planner/edit/plan_state.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Makes a plan and its state those of more workers, who have nothing to do yet; nothing without
/// names.
///
/// Model: they get the indices behind the others, in their order. A new one computes as fast beside
///   a worker of the plan as their rates say; of several workers the median counts, since some may
///   be slower than their rates. Cuts of the plan keep their places, and what ports were found to
///   lag stays; cuts that only new workers cross come behind.
/// Errors: kInvalidArgument when sizes or rates are wrong, or the network between the workers of
///   the plan would be another one: what is under way was planned by it.
/// Requires: CheckState is OK. Thread-safety: pure. O(steps + workers * cuts).
absl::Status AddWorkers(const PlanChange::Added& added, Plan* plan, PlanState* state);

}  // namespace weir::planner
