#pragma once

// When the lanes of a network's cuts fall free. Upstream: NetworkModel. Downstream: host_times,
// racks.

#include <cstdint>
#include <set>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "planner/plan/cut_lanes.h"
#include "planner/plan/network_model.h"

namespace weir::planner::tree {

/// Returns a number for every worker, counted from 0 by first worker: two have the same exactly
/// where they stand on the same sides of all cuts.
std::vector<std::int32_t> SidesOfCuts(const NetworkModel& network);

/// State of all lanes while transfers are placed one after another, in any order of their starts
/// that no earlier placing forbids.
///
/// Requires: CheckNetwork is OK; the network outlives the clock. Not thread-safe.
/// Time: O(cuts that the pair crosses, log lanes) a call.
/// Checked by: tests/unit/planner_tree/rack_schedules_test.cc.
class LaneClock {
 public:
  /// A transfer gives its lanes back `early_s` before it ends.
  explicit LaneClock(const NetworkModel& network, Seconds early_s = 0);

  /// Returns the earliest start, not before `start_s`, at which every cut that the pair crosses has
  /// the lanes that it takes.
  Seconds EarliestStart(WorkerIndex sender, WorkerIndex receiver, Seconds start_s);

  /// Takes the lanes from start_s until until_s.
  void Place(WorkerIndex sender, WorkerIndex receiver, Seconds start_s, Seconds until_s);

 private:
  /// The cuts that the pair crosses: the same for all workers on the same sides.
  const std::vector<std::int32_t>& Crossed(WorkerIndex sender, WorkerIndex receiver);

  const NetworkModel& network_;
  Seconds early_s_;
  CutLanes lanes_;
  std::vector<std::int32_t> side_;                                        // by worker
  absl::flat_hash_map<std::int64_t, std::vector<std::int32_t>> crossed_;  // by pair of sides
  std::vector<std::multiset<Seconds>> free_at_;  // by cut: the lanes used so far
};

}  // namespace weir::planner::tree
