#pragma once

// Optimal reduction of few speed classes by dynamic programming (003, section 5.3).
// Upstream: selection, instance files. Downstream: seconds, starting order.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {

/// Most cells of the table and most pairs of cells looked at: about 1 GB and some 10 s.
inline constexpr std::int64_t kClassCellsMax = 40'000'000;
inline constexpr double kClassPairsMax = 2e10;

/// Optimum of a cluster of `counts[k]` senders of `times[k]` each, the destination not counted.
struct ClassOptimum {
  Seconds optimum_s = 0;
  std::int64_t lookups = 0;  // pairs of table entries compared
  /// Times of the senders in an optimal starting order for EP.
  std::vector<Seconds> ordered_times;
};

/// Computes T(n_1..n_k) = t_min + min over the splits of the rest of max(T(left), T(right)),
/// equation (2); the slowest class alone takes ceil(log2(s + 1)) t, equation (3); the split of the
/// slowest class is found by bisection because T does not fall in its count (Lemma 4, equation
/// (4)).
///
/// Requires: times and counts of equal length, any order of times; every count >= 0.
/// Errors: kInvalidArgument naming times, counts, or the size of the table (use the slot search or
///   SNF + local search). Time: O(n^{2k-1} log n) (Theorem 6).
/// Example: times 2, 3 and counts 8, 3 -> 8 (SNF: 9).
/// Checked by: tests/unit/planner_tree/heterogeneous_test.cc, heterogeneous_property_test.cc.
absl::StatusOr<ClassOptimum> ClassOptimumByDp(const std::vector<Seconds>& times,
                                              const std::vector<std::int64_t>& counts);

}  // namespace weir::planner::tree
