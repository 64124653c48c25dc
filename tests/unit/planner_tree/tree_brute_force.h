#pragma once

// Exhaustive search of the homogeneous model of 000 in whole time units: every choice of transfers
// at every instant. Knows nothing of trees, greedy orders or bounds. For n up to about 8.

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "tests/unit/planner_tree/time_step_search.h"

namespace weir::planner::tree {

struct BruteForceInstance {
  int d = 1;  // >= 1
  int c = 1;
  int max_transfers = -1;
  int max_reducers = -1;
  std::vector<int> release;  // one per machine
};

inline int BruteForceMakespan(const BruteForceInstance& instance) {
  // Per machine: rest of its transfer, backlog of combining, has received, rest of its release.
  using Machine = std::array<int, 4>;
  using State = std::pair<std::vector<Machine>, int>;  // machines sorted, reducers used
  State first;
  for (int release : instance.release) first.first.push_back({0, 0, 0, release});
  std::sort(first.first.begin(), first.first.end());
  return FirstInstantDone(
      first,
      [](const State& state) {
        const auto& machines = state.first;
        return machines.size() == 1 && machines[0][0] == 0 && machines[0][1] == 0 &&
               machines[0][3] == 0;
      },
      [&instance](const State& state, const auto& add) {
        const auto& machines = state.first;
        int active = 0;
        for (const Machine& m : machines) active += m[0] > 0 ? 1 : 0;
        if (instance.max_transfers >= 0 && active >= instance.max_transfers) return;
        for (std::size_t s = 0; s < machines.size(); ++s) {
          if (machines[s][0] != 0 || machines[s][1] != 0 || machines[s][3] != 0) continue;
          for (std::size_t r = 0; r < machines.size(); ++r) {
            if (r == s || machines[r][0] != 0 || machines[r][3] != 0) continue;
            State next = state;
            const bool limited = instance.max_reducers >= 0;
            if (limited && next.first[r][2] == 0) {
              next.first[r][2] = 1;
              ++next.second;
              if (next.second > instance.max_reducers) continue;
            }
            next.first[r][0] = instance.d;
            next.first.erase(next.first.begin() + static_cast<std::ptrdiff_t>(s));
            std::sort(next.first.begin(), next.first.end());
            add(std::move(next));
          }
        }
      },
      [&instance](State& state) {
        for (Machine& m : state.first) {
          if (m[1] > 0) --m[1];
          if (m[0] > 0 && --m[0] == 0) m[1] += instance.c;
          if (m[3] > 0) --m[3];
        }
        std::sort(state.first.begin(), state.first.end());
      });
}

}  // namespace weir::planner::tree
