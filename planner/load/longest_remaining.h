#pragma once

// Large layers with unequal receivers or releases: serve whoever has most left until the last
// sender is released, then the rest exactly.
// Upstream: schedule_layer.cc. Downstream: matching_schedule.h.

#include "absl/status/statusor.h"
#include "planner/load/communication.h"

namespace weir::planner::load {

struct LongestRemainingResult {
  std::vector<Piece> pieces;
  double makespan = 0;
};

/// Schedules by list: whenever a port is free, the free port with most left chooses the free port
/// with most left on the other side, for one piece.
///
/// Model: until t_n, pieces of at most `piece_max`; then the remainder R in a window of its own
///   length max(row, column, total / l), which is optimal from there on.
/// Symbols: piece_max in the time unit of the demand, > 0; smaller comes closer to the optimum with
///   more pieces.
/// Bounds: see the bench's table; nothing is proven beyond the window of the remainder.
/// Time: O(pieces log n) while a port finds a partner among the first few, then MatchingSchedule.
absl::StatusOr<LongestRemainingResult> LongestRemainingFirst(const ShuffleDemand& demand,
                                                             double piece_max);

}  // namespace weir::planner::load
