#pragma once

// Storing the result: write steps and the limited store that they share.
// Upstream: PlanAssembly::AddStore, then one of transfer_orders. Downstream: CheckPlan, Predict,
// the conductor.

#include "absl/status/status.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Deals the write steps to at most `channels` channels of the store by list scheduling (whenever a
/// channel is free, it takes the write step that was ready first), and adopts the times that
/// follow.
///
/// Model: a write step holds one channel of the store while it runs (004, 4.1: storing limited by
///   l); whatever stands before it stays as it is, since nothing waits for a write step but the
///   next one on its worker.
/// Requires: the plan has its transfer orders and times; channels >= 0, 0 = no limit.
/// Errors: those of Predict. O(write steps * log) time.
/// Checked by: tests/unit/planner_plan/store_test.cc.
absl::Status OrderStore(std::int32_t channels, Plan* plan);

/// Checks store_channels and store_order: every write step on one channel, nothing else, no more
/// channels than there are. Requires: CheckItems(plan) is OK.
absl::Status CheckStoreOrder(const Plan& plan);

/// Checks what write steps read and make: output text of the reducers of the layer before (or of a
/// reduction tree), all of it, each section once, and as many bytes out as in.
/// Requires: indices are in range; sections are sound.
absl::Status CheckWrites(const Plan& plan);

}  // namespace weir::planner
