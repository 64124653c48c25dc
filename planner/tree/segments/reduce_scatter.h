#pragma once

// Reduce-scatter on a circulant graph, then gather: Rabenseifner's volume for any number of
// machines, so that there is no step up next to powers of two.
// Upstream: selection. Downstream: Schedule.

#include <cstdint>

#include "absl/status/statusor.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// Most machines of schedules that follow one segment per machine on every machine.
inline constexpr std::int32_t kScatterMachinesMax = 4096;

/// Schedules ceil(log2 p) rounds of reduce-scatter over p equal segments and as many of gather.
///
/// Model: with s' = p and s = ceil(s'/2), machine r sends its partials of the segments r + s .. r +
///   s' - 1 (mod p) to machine r + s and keeps the rest; then s' = s until s' = 1, when machine r
///   holds segment r. Needs a commutative operation.
/// Bounds: no overlap: 2 ceil(log2 p) alpha + (p-1)/p (2 beta + gamma) units.
/// Errors: kInvalidArgument naming p, units, alpha, beta, gamma.
/// Source: J. L. Traeff, "Optimal, non-pipelined reduce-scatter and allreduce algorithms", 2024.
/// Checked by: tests/unit/planner_tree/schedules_test.cc, segmented_property_test.cc.
absl::StatusOr<Schedule> ReduceScatterSchedule(std::int32_t p, double units, const LinkCosts& costs,
                                               PortModel ports);

}  // namespace weir::planner::tree
