#pragma once

// Who is matched with whom for the greatest total weight. Upstream: slack_schedule. Downstream:
// nothing.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::planner {

/// Solves one assignment after another, in memory that it keeps.
///
/// Thread-safety: none. Same weights, same result: ties by index.
/// Source: H. W. Kuhn, "The Hungarian method for the assignment problem", 1955; shortest augmenting
///   paths with potentials.
/// Checked by: tests/unit/planner_plan/order_by_slack_test.cc (against all permutations).
class Assignment {
 public:
  /// Returns, for each row, the column it is matched with, or -1: a matching of greatest total
  /// weight among all matchings. Pairs of weight <= 0 are never matched. Valid until the next call.
  /// Requires: all rows of `weight` have the same length.
  /// Time: O(n^3), n = larger of rows and columns.
  const std::vector<std::int32_t>& Solve(const std::vector<std::vector<double>>& weight);

 private:
  // By row, or by column; number 0 stands for "none" while a path is searched.
  std::vector<double> row_price_, column_price_, least_;
  std::vector<std::size_t> row_of_, came_from_;
  std::vector<char> used_;  // as bool; vector<bool> is slower
  std::vector<std::int32_t> column_of_;
};

}  // namespace weir::planner
