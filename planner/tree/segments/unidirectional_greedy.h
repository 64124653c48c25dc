#pragma once

// Greedy reduction of segments in order on half-duplex machines that do not overlap (002,
// "Unidirectional"). Upstream: segment_sizes, selection, instance files. Downstream: seconds,
// Schedule.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// Most machines of the compressed evaluation; counts stay exact in 64 bits.
inline constexpr std::int64_t kCompressedMachinesMax = std::int64_t{1} << 53;

/// Returns the makespan of the greedy reduction without building it.
///
/// Model: one send or receive or combine at a time per machine; segments in order. Per segment the
///   two machines that are free first are paired; the sender moves on to the next segment after
///   alpha + beta s, the receiver is back after another gamma s; the root always receives.
/// Bounds: no reduction that takes the segments in order is shorter (002, Theorem); out of order
///   can be shorter.
/// Errors: kInvalidArgument naming p, segments, alpha, beta, gamma. Time: O(q log p) groups of
///   equal free times when sizes are equal (p = 10^9, q = 1000 in about 40 ms).
/// Source: 002, "Greedy Tree - Unidirectional".
/// Example: p = 15, five unit segments, t_comm = 2, t_comp = 1 (the figure of 002).
/// Checked by: tests/unit/planner_tree/schedules_test.cc, segmented_property_test.cc.
absl::StatusOr<Seconds> UnidirectionalGreedyLength(std::int64_t p, const std::vector<double>& units,
                                                   const LinkCosts& costs);

/// Builds the same reduction as a schedule: root 0, ties by machine.
absl::StatusOr<Schedule> UnidirectionalGreedySchedule(std::int32_t p, std::vector<double> units,
                                                      const LinkCosts& costs);

}  // namespace weir::planner::tree
