#include "runtime/master/share/coflow_order.h"

#include <algorithm>
#include <limits>

namespace weir::master {

std::vector<std::size_t> OrderCoflows(absl::Span<const CoflowDemand> demands) {
  std::vector<double> weight;
  absl::btree_map<std::int64_t, double> total_s;  // of those without a place yet
  for (const CoflowDemand& demand : demands) {
    weight.push_back(demand.weight);
    for (const auto& [resource, seconds] : demand.seconds) total_s[resource] += seconds;
  }
  std::vector<bool> placed(demands.size(), false);
  std::vector<std::size_t> order(demands.size());
  for (std::size_t place = demands.size(); place-- > 0;) {
    const auto bottleneck =
        std::max_element(total_s.begin(), total_s.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    std::size_t last = demands.size();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < demands.size() && bottleneck != total_s.end(); ++j) {
      if (placed[j]) continue;
      const auto there = demands[j].seconds.find(bottleneck->first);
      if (there == demands[j].seconds.end()) continue;
      const double ratio = weight[j] / there->second;
      if (ratio > least) continue;
      least = ratio;
      last = j;
    }
    if (last == demands.size()) {
      // Nobody left has anything to move there (rounding, or no demand at all).
      for (std::size_t j = 0; j < demands.size(); ++j) {
        if (!placed[j]) last = j;
      }
    } else {
      for (std::size_t j = 0; j < demands.size(); ++j) {
        const auto there = demands[j].seconds.find(bottleneck->first);
        if (placed[j] || j == last || there == demands[j].seconds.end()) continue;
        weight[j] = std::max(0.0, weight[j] - least * there->second);
      }
    }
    placed[last] = true;
    order[place] = last;
    for (const auto& [resource, seconds] : demands[last].seconds) {
      const auto it = total_s.find(resource);
      if (it == total_s.end()) continue;
      it->second -= seconds;
      // What rounding leaves is no demand.
      if (it->second <= 1e-12 * seconds) total_s.erase(it);
    }
  }
  return order;
}

}  // namespace weir::master
