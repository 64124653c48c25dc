#pragma once

// Reduction when a transfer's time depends on both machines (003, section 7, "sender and
// receiver"). Upstream: selection. Downstream: TimedTree.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {

/// Builds a reduction to machine 0 in which the transfer i -> j takes send_s[i] + receive_s[j].
///
/// Model: 003: sender and receiver do nothing else; combining is part of the costs.
/// Method: reversed greedy (machines join one after another where they end first) in four orders,
///   the best improved by `iterations` moves of the order, or to the second best receiver, from a
///   fixed generator. Not optimal: see the ratio pinned by the property test (forward SNF: 1.83).
/// Errors: kInvalidArgument naming send, receive (sizes differ, empty, negative, not finite) or
///   iterations. Time: O(iterations n^2).
/// Checked by: tests/unit/planner_tree/heterogeneous_property_test.cc.
absl::StatusOr<TimedTree> PairCostTree(const std::vector<Seconds>& send_s,
                                       const std::vector<Seconds>& receive_s,
                                       std::int64_t iterations);

/// Most machines of PairCostTree.
inline constexpr std::int64_t kPairMachinesMax = 4096;

}  // namespace weir::planner::tree
