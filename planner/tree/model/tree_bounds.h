#pragma once

// Bounds on the length of optimal homogeneous trees (000, sections 5 and 6).
// Upstream: explanations, tests. Downstream: seconds.

#include <cstdint>
#include <vector>

#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {

/// Returns the least integer k with 2^k >= n, for n >= 1.
std::int64_t CeilLog2(std::int64_t n);

/// Returns the greatest integer k with 2^k <= n, for n >= 1.
std::int64_t FloorLog2(std::int64_t n);

/// Returns ceil(log2 n) max(d, c): no schedule of n >= 1 elements is shorter. Source: 000, Lemma 5,
///   which prints floor(log2 n); its proof ends with this.
Seconds LengthLowerBound(std::int64_t n, ElementCosts costs);

/// Returns ceil(log2 n)(d + c): the optimum is not longer. Source: 000, Proposition 6.
Seconds LengthUpperBound(std::int64_t n, ElementCosts costs);

/// Returns an upper bound on the length with at most K transfers (Algorithm 2) or K reducers
///   (Algorithm 3), K <= n/2: (k + ceil((n - 2^k) / K))(d + c), k = floor(log2 K) + 1.
///
/// Source: 000, Proposition 8 and Corollary 11, corrected: the printed bound is false (n = 6, K =
///   3, d = c = 1: optimum 5, printed bound 4), because K machines do not all hold an element when
///   the doubling mode ends.
/// Checked by: tests/unit/planner_tree/homogeneous_property_test.cc.
Seconds LimitedLengthUpperBound(std::int64_t n, std::int64_t limit, ElementCosts costs);

/// Returns d + (degree - 1) max(d, c) + c for the largest in-degree of a tree, 0 for degree 0.
/// Source: 000, section 5.
Seconds DegreeLowerBound(std::int64_t degree, ElementCosts costs);

/// Returns depth (d + c), `depth` counted in edges from the sink. Source: 000, section 5 (its depth
///   counts machines).
Seconds DepthLowerBound(std::int64_t depth, ElementCosts costs);

/// Returns a lower bound on reductions of N - 1 senders of `times` (003) to one destination with at
///   most K transfers at once: the longest of r t_s over all s, and of sum / K.
///
/// Symbols: t_s = the s-th slowest time, r = least number with 2^r >= N / (N - s): a binary tree of
///   N leaves of which no path has more than r of the s slowest merges has at most N - N / 2^r of
///   them (by induction over the top merge), and every merge on a path takes its own time.
/// Checked by: tests/unit/planner_tree/heterogeneous_property_test.cc.
Seconds SenderLowerBound(std::vector<Seconds> times, std::int64_t max_transfers);

/// Returns a lower bound on broadcasts (003): the source's first message, then doubling at the
///   fastest machine's speed. Checked by: as above.
Seconds BroadcastLowerBound(Seconds source, const std::vector<Seconds>& others);

}  // namespace weir::planner::tree
