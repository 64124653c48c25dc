#pragma once

// Greedy reduction of segments on full-duplex machines that do not overlap (002, Algorithm 2,
// corrected). Upstream: instance files, selection for unequal segments. Downstream: Schedule.

#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// Builds the bidirectional greedy reduction to machine 0.
///
/// Model: a machine sends and receives at once, and does neither while it combines.
/// Corrections of the printed pseudo-code: freeProc is an intersection; the root is never in
///   sendProc; the stop tests stand outside the else branch; with unequal segments a receiver's own
///   send must end by the arrival.
/// Bounds: equal segments: (ceil(log2 p) + q - 1)(t_comm + t_comp) in every run measured
///   (conjecture of 002).
/// Errors: kInvalidArgument naming p, segments, alpha, beta, gamma, or p * segments above
///   kBidirectionalCellsMax. Time: O(p q) per instant at which a port or a combine ends.
/// Checked by: tests/unit/planner_tree/segmented_property_test.cc.
absl::StatusOr<Schedule> BidirectionalGreedySchedule(std::int32_t p, std::vector<double> units,
                                                     const LinkCosts& costs);

/// Largest p * q of the greedy above; beyond it use CirculantSchedule, which has the same length.
inline constexpr std::int64_t kBidirectionalCellsMax = std::int64_t{1} << 20;

}  // namespace weir::planner::tree
