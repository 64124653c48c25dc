#pragma once

// Which write step stores its part when, through a store that takes N at once.
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

}  // namespace weir::planner
