#pragma once

// Large layers with unequal receivers: serve whoever has most left until the last sender is
// released, then the rest exactly. Upstream: schedule_layer.cc. Downstream: matching_schedule.h.

#include "absl/status/statusor.h"
#include "planner/load/communication.h"

namespace weir::planner::load {

struct LongestRemainingResult {
  std::vector<Piece> pieces;
  double makespan = 0;
};

/// Schedules by quanta: in each, the ports with most left choose first among the free ports on the
/// other side.
///
/// Model: until t_n, quanta of at most (T - t_1) / num_quanta; then the remainder R in a window of
/// its own length
///   max(row, column, total / l), which is optimal from there on.
/// Bounds: within 1e-3 of the cut makespan on the instances tried (measured).
/// Time: O(num_quanta n r) worst case, then MatchingSchedule.
absl::StatusOr<LongestRemainingResult> LongestRemainingFirst(const ShuffleDemand& demand,
                                                             double horizon,
                                                             std::int32_t num_quanta);

}  // namespace weir::planner::load
