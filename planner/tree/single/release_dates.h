#pragma once

// Reduction of elements that become ready at different times, also with a limit on concurrent
// transfers. Upstream: mappers that finish at different times, instance files, selection.
// Downstream: TimedTree.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/timed_tree.h"
#include "planner/tree/speeds/earliest_possible.h"

namespace weir::planner::tree {

/// Most machines of the greedy, and of its second policy (quadratic).
inline constexpr std::int64_t kReleaseMachinesMax = 20'000;
inline constexpr std::int64_t kFertileMachinesMax = 256;

/// Builds a tree for machines whose elements are ready at release[i].
///
/// Model: 000, but machine i neither sends nor receives before release[i]; at most K transfers at
///   once; any machine may be the sink (the one without receiver).
/// Method: reversed greedy for a deadline T, bisected on T: the earliest usable slot of a machine
///   that is released in time takes the latest machine, or the earliest (it can take most others)
///   when the rest still fits; the better tree is timed forward. Neither policy is optimal: optimal
///   in 142 of 172 small instances, worst ratio 1.17 (measured).
/// Errors: kInvalidArgument naming n, d, c, K or release[i].
/// Ties: by release, then by machine. Time: O(n log n) per deadline, O(n^2 log n) up to
///   kFertileMachinesMax machines.
/// Checked by: tests/unit/planner_tree/release_dates_test.cc, release_property_test.cc.
absl::StatusOr<TimedTree> ReleaseDateTree(const std::vector<Seconds>& release, ElementCosts costs,
                                          std::int64_t max_transfers = kNoTransferLimit);

/// Returns max over k of r_k + B(number of elements not ready before r_k, plus one for the others),
/// below which no reduction ends; B is the length of Algorithm 1, or 2 under a limit. Errors: as
/// ReleaseDateTree.
absl::StatusOr<Seconds> ReleaseLowerBound(const std::vector<Seconds>& release, ElementCosts costs,
                                          std::int64_t max_transfers = kNoTransferLimit);

}  // namespace weir::planner::tree
