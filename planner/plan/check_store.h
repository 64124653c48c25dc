#pragma once

// The part of CheckPlan about storing the result: write steps and the limited store that they
// share. Upstream: plan_structure, plan_loads.

#include "absl/status/status.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Checks store_channels and store_order: every write step on one channel, nothing else, no more
/// channels than there are. Requires: CheckItems(plan) is OK.
absl::Status CheckStoreOrder(const Plan& plan);

/// Checks what write steps read and make: output text of the reducers of the layer before (or of a
/// reduction tree), all of it, each section once, and as many bytes out as in.
/// Requires: indices are in range; sections are sound.
absl::Status CheckWrites(const Plan& plan);

}  // namespace weir::planner
