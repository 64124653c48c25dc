#pragma once

// Event simulator of the homogeneous model of 000. Knows nothing of the algorithms: it replays the
// stated starts and says what is wrong with them.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {

struct TreeRules {
  std::int64_t max_transfers = -1;  // -1: no limit
  std::int64_t max_reducers = -1;
  std::vector<double> release_s = {};  // empty: all 0
  double tolerance_s = 1e-9;
};

// Returns "" when the tree is a feasible schedule that ends at its makespan, else the first rule it
// breaks.
inline std::string TreeFault(const TimedTree& tree, ElementCosts costs,
                             const TreeRules& rules = {}) {
  const auto n = static_cast<std::int64_t>(tree.receiver.size());
  const double eps = rules.tolerance_s;
  auto release_s = [&](std::int64_t i) {
    return rules.release_s.empty() ? 0.0 : rules.release_s[i];
  };
  std::int64_t sink = -1;
  for (std::int64_t i = 0; i < n; ++i) {
    if (tree.receiver[i] != kNoMachine) continue;
    if (sink >= 0) return "two sinks";
    sink = i;
  }
  if (sink < 0) return "no sink";
  std::vector<std::vector<double>> received(n);
  for (std::int64_t i = 0; i < n; ++i) {
    if (i == sink) continue;
    std::int64_t at = i;
    for (std::int64_t hops = 0; at != sink; ++hops) {
      if (hops > n) return "cycle";
      at = tree.receiver[at];
    }
    received[tree.receiver[i]].push_back(tree.start_s[i]);
  }
  std::int64_t reducers = 0;
  double end_s = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    std::sort(received[i].begin(), received[i].end());
    if (!received[i].empty()) ++reducers;
    double port_free_s = release_s(i);
    double combined_s = release_s(i);
    for (double start_s : received[i]) {
      if (start_s < port_free_s - eps) return "receive port used twice, or before its release";
      port_free_s = start_s + costs.transfer_s;
      combined_s = std::max(combined_s, port_free_s) + costs.combine_s;
    }
    if (i == sink) {
      end_s = combined_s;
    } else if (tree.start_s[i] < std::max(port_free_s, combined_s) - eps) {
      return "sends before it has combined";
    }
  }
  if (rules.max_reducers >= 0 && reducers > rules.max_reducers) return "too many reducers";
  if (rules.max_transfers >= 0 && costs.transfer_s > 0) {
    std::vector<std::pair<double, int>> events;
    for (std::int64_t i = 0; i < n; ++i) {
      if (i == sink) continue;
      events.push_back({tree.start_s[i] + eps, 1});
      events.push_back({tree.start_s[i] + costs.transfer_s - eps, -1});
    }
    std::sort(events.begin(), events.end());
    std::int64_t active = 0;
    for (const auto& event : events) {
      active += event.second;
      if (active > rules.max_transfers) return "too many transfers at once";
    }
  }
  if (end_s > tree.makespan_s + eps) return "ends after its makespan";
  return "";
}

}  // namespace weir::planner::tree
