#pragma once

// Exact optimum of a small reduction with release dates.
// Upstream: instance files, tests. Downstream: seconds.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/timed_tree.h"
#include "planner/tree/speeds/earliest_possible.h"

namespace weir::planner::tree {

/// Most machines and states of the exact search.
inline constexpr std::int64_t kExactReleaseMax = 10;
inline constexpr std::int64_t kExactReleaseStatesMax = 1'000'000;

/// Finds the least makespan in the model of ReleaseDateTree, any machine being the sink.
///
/// Method: branch and bound over sequences of transfers with nondecreasing starts, each as early as
///   possible; bound: ReleaseLowerBound with every machine's next free port as its release.
/// Errors: kInvalidArgument naming n (use ReleaseDateTree and ReleaseLowerBound), d, c, K or
///   release[i].
/// Checked by: tests/unit/planner_tree/release_property_test.cc against a search in whole time
///   units.
absl::StatusOr<Seconds> ExactReleaseLength(const std::vector<Seconds>& release, ElementCosts costs,
                                           std::int64_t max_transfers = kNoTransferLimit);

}  // namespace weir::planner::tree
