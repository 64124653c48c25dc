#pragma once

// Optimal trees of the homogeneous, overlapped model (000, Algorithms 1 to 3).
// Upstream: selection, instance files. Downstream: TimedTree.

#include <cstdint>

#include "absl/status/statusor.h"
#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {

/// Which of two machines that could receive at the same moment does. Times are the same either way.
enum class Ties {
  kJoinedFirst,      // one that has just joined goes before one that continues
  kContinuingFirst,  // the other way: of two that can do the same from then on, the older one
};

/// Builds the fastest reduction tree of n machines.
///
/// Model: ElementCosts; any number of transfers at once, one per machine.
/// Requires: 1 <= n <= kTreeMachinesMax; costs finite and not negative.
/// Errors: kInvalidArgument naming n, d or c.
/// Thread-safety: pure.
/// Ties: as `ties` says; else first come, first served. With kContinuingFirst no subtree of the
///   sink is larger than the sink and all that it receives after it, in reversed time: both grow
///   alike, the sink's side no later. So sets of subtrees have any number of machines from 0 to
///   n - 1.
/// Transfers start as late as the makespan allows (times are reversed from the sink).
/// Time: O(n): popped times never decrease, so two queues replace the heap of the source.
/// Source: 000, Algorithm 1, Theorem 4.
/// Example: n = 4, d = c = 1 -> makespan 4 (Fig. 1: starts 0, 1, 2).
/// Checked by: tests/unit/planner_tree/greedy_tree_test.cc, homogeneous_property_test.cc.
absl::StatusOr<TimedTree> GreedyTree(std::int64_t n, ElementCosts costs,
                                     Ties ties = Ties::kJoinedFirst);

/// Builds the fastest tree with at most K = max_transfers transfers at any time, 1 <= K <= n (K = 1
/// when n = 1).
///
/// Ties: as of GreedyTree, with the same consequence.
/// Source: 000, Algorithm 2, Theorem 7, with two corrections: the reversal of line 14 is t_n - t_i
///   (the printed + c contradicts Fig. 1), and "t_i = 0 for i >= n" reads i <= 1.
absl::StatusOr<TimedTree> GreedyTreeLimitedTransfers(std::int64_t n, std::int64_t max_transfers,
                                                     ElementCosts costs,
                                                     Ties ties = Ties::kJoinedFirst);

/// Builds the fastest tree in which at most K = max_reducers machines receive, 1 <= K <= n.
///
/// Source: 000, Algorithm 3, Theorem 9.
absl::StatusOr<TimedTree> GreedyTreeLimitedReducers(std::int64_t n, std::int64_t max_reducers,
                                                    ElementCosts costs);

}  // namespace weir::planner::tree
