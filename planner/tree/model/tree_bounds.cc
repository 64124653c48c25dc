#include "planner/tree/model/tree_bounds.h"

#include <algorithm>
#include <functional>

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

Seconds SenderLowerBound(std::vector<Seconds> times, std::int64_t max_transfers) {
  std::sort(times.begin(), times.end(), std::greater<>());
  Seconds bound_s = 0;
  Seconds sum_s = 0;
  for (std::size_t k = 0; k < times.size(); ++k) {
    sum_s += times[k];
    const std::size_t fast_leaves = times.size() - k;  // N - s
    std::int64_t levels = 0;
    while ((fast_leaves << levels) < times.size() + 1) ++levels;
    bound_s = std::max(bound_s, static_cast<double>(levels) * times[k]);
  }
  return std::max(bound_s, sum_s / static_cast<double>(max_transfers));
}

Seconds BroadcastLowerBound(Seconds source, const std::vector<Seconds>& others) {
  if (others.empty()) return 0;
  const Seconds fastest_s = std::min(source, *std::min_element(others.begin(), others.end()));
  const std::int64_t levels = CeilLog2(static_cast<std::int64_t>(others.size()) + 1);
  return source + static_cast<double>(levels - 1) * fastest_s;
}

}  // namespace weir::planner::tree
