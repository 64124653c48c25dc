#include "planner/tree/tree_bounds.h"

#include <algorithm>

namespace weir::planner::tree {

std::int64_t FloorLog2(std::int64_t n) {
  std::int64_t k = 0;
  while ((n >> (k + 1)) > 0) ++k;
  return k;
}

std::int64_t CeilLog2(std::int64_t n) { return n <= 1 ? 0 : FloorLog2(n - 1) + 1; }

Seconds LengthLowerBound(std::int64_t n, ElementCosts costs) {
  return static_cast<double>(CeilLog2(n)) * std::max(costs.transfer_s, costs.combine_s);
}

Seconds LengthUpperBound(std::int64_t n, ElementCosts costs) {
  return static_cast<double>(CeilLog2(n)) * (costs.transfer_s + costs.combine_s);
}

Seconds LimitedLengthUpperBound(std::int64_t n, std::int64_t limit, ElementCosts costs) {
  const std::int64_t doubling_steps = FloorLog2(limit) + 1;
  const std::int64_t remaining = n - (std::int64_t{1} << doubling_steps);
  const std::int64_t full_steps = remaining <= 0 ? 0 : (remaining + limit - 1) / limit;
  return static_cast<double>(doubling_steps + full_steps) * (costs.transfer_s + costs.combine_s);
}

Seconds DegreeLowerBound(std::int64_t degree, ElementCosts costs) {
  if (degree == 0) return 0;
  return costs.transfer_s +
         static_cast<double>(degree - 1) * std::max(costs.transfer_s, costs.combine_s) +
         costs.combine_s;
}

Seconds DepthLowerBound(std::int64_t depth, ElementCosts costs) {
  return static_cast<double>(depth) * (costs.transfer_s + costs.combine_s);
}

}  // namespace weir::planner::tree
