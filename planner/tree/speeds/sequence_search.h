#pragma once

// Starting orders for EP: local search for any size, exact search for few senders under a limit on
// transfers. Upstream: selection, instance files. Downstream: starting order.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {

/// A starting order and the length of its EP.
struct SequenceResult {
  Seconds makespan_s = 0;
  std::vector<Seconds> ordered_times;
};

/// Improves slowest-node-first by swaps and moves that do not lengthen the schedule.
///
/// Deterministic: the moves come from a fixed generator seeded by the number of senders.
/// Bounds: never longer than SNF; +0.06 % over the optimum on average at 21 distinct speeds (SNF:
///   +2.3 %; measured).
/// Errors: kInvalidArgument naming senders[i], K, iterations. Time: O(iterations m log m).
absl::StatusOr<SequenceResult> ImproveSequence(const std::vector<Seconds>& times,
                                               std::int64_t max_transfers, std::int64_t iterations);

/// Most senders, and most states, of the exact search below.
inline constexpr std::int64_t kExactSequenceMax = 16;
inline constexpr std::int64_t kExactSequenceStatesMax = 1'000'000;

/// Finds the best starting order with at most K transfers at once; some EP schedule is optimal
/// under the limit.
///
/// Errors: kInvalidArgument naming senders, K, or the limit (use ImproveSequence).
/// Checked by: tests/unit/planner_tree/heterogeneous_property_test.cc.
absl::StatusOr<SequenceResult> ExactLimitedSequence(const std::vector<Seconds>& times,
                                                    std::int64_t max_transfers);

}  // namespace weir::planner::tree
