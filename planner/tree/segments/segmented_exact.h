#pragma once

// Exact optimum of a small segmented reduction over all trees, orders and interleavings.
// Upstream: instance files, tests. Downstream: Schedule.

#include <cstdint>

#include "absl/status/statusor.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// Largest (n - 1) m of the exact search, and the states it may visit (about 200 bytes each).
inline constexpr std::int64_t kExactMessagesMax = 9;
inline constexpr std::int64_t kExactStatesMax = 1'000'000;

/// Finds the shortest reduction of m equal segments on n machines in 001's model.
///
/// Model: as EvaluateDestinations, but any machine may send any segment it holds to any holder at
///   any time; a machine combines in order of arrival. beta and gamma are the times of one segment;
///   alpha = 0 gives the overlapped full-duplex model with d = beta, c = gamma.
/// Method: branch and bound over sequences of transfers with nondecreasing starts, each as early as
///   its ports allow (left-shifting and sorting by start turns any schedule into such a sequence);
///   equal states are visited once.
/// Errors: kInvalidArgument naming n or m beyond the limits (use a schedule builder and
///   OverlapLowerBound), alpha, beta, gamma.
/// Source: 001, closing remark ("one destination and order per machine"). Its own example: 3.4
///   instead of 3.8.
/// Checked by: tests/unit/planner_tree/segmented_evaluation_test.cc.
absl::StatusOr<Schedule> SegmentedExactSearch(std::int32_t n, std::int32_t m,
                                              const LinkCosts& costs);

}  // namespace weir::planner::tree
