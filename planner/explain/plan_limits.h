#pragma once

// What a plan spends its time on: the five things that can limit a job.
// Upstream: a plan. Downstream: notes for people (planner/job), Explain.

#include <string>

#include "planner/plan/plan.h"

namespace weir::planner {

/// What limits a job.
enum class Limit { kMap, kChannel, kBisection, kReduce, kStore };

/// Returns "map", "channel", "bisection", "reduce" or "store".
const char* LimitName(Limit limit);

/// Busy time of the busiest part of each kind, seconds; each alone is a time that no order can
/// beat.
struct PlanLimits {
  /// Most map time on one worker.
  Seconds map_s = 0;
  /// Most reduce and combine time on one worker.
  Seconds reduce_s = 0;
  /// Most write time on one worker or, where that is more, of all divided by the store's channels.
  Seconds store_s = 0;
  /// Most sending or receiving at one port, and which. Of plans without an order (kFetchAll,
  /// kRates), where starts and gaps of some pass while others move: what its bytes take at its own
  /// rate (SharedPortSeconds).
  Seconds port_s = 0;
  WorkerIndex port_worker = kNoIndex;
  bool port_receives = false;
  Bytes port_bytes = 0;
  /// Most transfer time through one cut, each counted by the part of a channel that it takes,
  /// divided by the cut's channels; and which. Without an order: of its bytes alone, too.
  Seconds cut_s = 0;
  std::int32_t cut = kNoIndex;
  Bytes cut_bytes = 0;
  /// The largest of the five; the first in the order of Limit on a tie.
  Limit limit = Limit::kMap;
  Seconds limit_s = 0;
};

/// Adds up busy times.
/// Requires: CheckStructure without transfer orders (CheckItems) is OK.
/// Thread-safety: pure. O(steps + transfers * cuts) time.
PlanLimits FindLimits(const Plan& plan);

}  // namespace weir::planner
