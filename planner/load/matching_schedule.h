#pragma once

// Any demand that fits into a window, as pieces: Birkhoff-von Neumann decomposition driven by
// events.
// Upstream: windows of schedule_layer.cc. Downstream: pieces.

#include <vector>

#include "absl/status/statusor.h"
#include "planner/load/communication.h"

namespace weir::planner::load {

/// Schedules `send_time` within [begin, begin + length) on `channels` channels.
///
/// Model: W = send_time / length has row and column sums <= 1 and total <= channels. W is extended
///   to a doubly stochastic matrix whose dummy rows and columns hold idle ports, with enough of
///   them that a perfect matching has at most `channels` real pairs. A perfect matching is kept;
///   when its next entry is used up, only that pair is re-matched along one alternating path, so a
///   piece ends only when it must.
/// Returns: pieces in scaled order of their ends, unmerged; together the whole demand, except for
///   rounding below 1e-9 of the length per pair, or of 1e-6 per port of millions of pairs that are
///   all but empty, which plan assembly puts back (sections are tiled
///   by pieces).
/// Requires: length > 0.
/// Errors: kInternal when the sums exceed what fits by more than 1e-6 or rounding broke the
///   matching.
/// Time: one alternating path per event, about 2 n r events; 1 000 x 1 000 in seconds. O((n + r)^2)
///   memory.
/// Source: 004 section 4.3 and theorem 4.2 (same result by one network flow per set F, O(n^5) per
///   interval).
/// Checked by: tests/unit/planner_load/communication_test.cc (CheckSchedule; against
///   source_decomposition.h).
absl::StatusOr<std::vector<Piece>> MatchingSchedule(
    const std::vector<std::vector<double>>& send_time, double begin, double length,
    std::int32_t channels);

/// Returns the shortest window that holds the demand: max over rows, columns and total / channels.
double WindowNeeded(const std::vector<std::vector<double>>& send_time, std::int32_t channels);

}  // namespace weir::planner::load
