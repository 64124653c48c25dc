#pragma once

// The number of segments that makes a schedule shortest.
// Upstream: builders of schedules. Downstream: selection, rack_candidates.

#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// Powers of two beyond this times the shortest length are not looked at.
inline constexpr double kHopelessLength = 1.5;

/// Builds schedules of q = 1, 2, 4, ... up to `limit` segments, and then, if `refines`, of counts
/// between the neighbours of the best at steps of an eighth. Returns the shortest, the first of
/// equal ones, or the error of q = 1. Stops early where `gives_up` and longer counts are hopeless.
template <typename Build>
absl::StatusOr<Schedule> BestCount(std::int64_t limit, bool refines, bool gives_up,
                                   const Build& build) {
  absl::StatusOr<Schedule> best = build(std::int64_t{1});
  if (!best.ok()) return best;
  std::int64_t best_count = 1;
  std::set<std::int64_t> tried = {1};
  // Length, or infinity where there is no such schedule.
  const auto try_count = [&](std::int64_t q) {
    if (q < 1 || q > limit || !tried.insert(q).second) return best->makespan_s;
    absl::StatusOr<Schedule> next = build(q);
    if (!next.ok()) return std::numeric_limits<double>::infinity();
    const double length_s = next->makespan_s;
    if (length_s < best->makespan_s) {
      best = std::move(next);
      best_count = q;
    }
    return length_s;
  };
  for (std::int64_t q = 2; q <= limit; q *= 2) {
    if (try_count(q) > kHopelessLength * best->makespan_s && gives_up) break;
  }
  if (!refines) return best;
  const std::int64_t near = best_count;
  for (const std::int64_t q : {near * 5 / 8, near * 3 / 4, near * 7 / 8, near * 9 / 8, near * 5 / 4,
                               near * 3 / 2, near * 7 / 4, near + 1}) {
    try_count(q);
  }
  return best;
}

}  // namespace weir::planner::tree
