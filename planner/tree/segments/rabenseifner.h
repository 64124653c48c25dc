#pragma once

// Reduce-scatter by recursive halving, then gather to the root.
// Upstream: selection. Downstream: Schedule.

#include <cstdint>

#include "absl/status/statusor.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// Schedules Rabenseifner's reduction of `units` to machine 0.
///
/// Model: the element is cut into P = 2^floor(log2 p) segments. Machines P..p-1 first exchange
///   halves with machine i - P and hand their combined half over; then log2 P rounds halve what
///   each machine keeps; then a binomial gather. Needs a commutative operation (reduce-scatter
///   pairs distant ranks).
/// Bounds: no overlap: 2 log2(P) alpha + (P-1)/P (2 beta + gamma) units, plus 2 alpha + units (beta
///   + gamma/2) if p > P.
/// Errors: kInvalidArgument naming p, units, alpha, beta, gamma.
/// Source: 000, section 2 and 002, "Bidirectional" (Rabenseifner 2004).
/// Checked by: tests/unit/planner_tree/schedules_test.cc (Rabenseifner.FourMachinesByHand).
absl::StatusOr<Schedule> RabenseifnerSchedule(std::int32_t p, double units, const LinkCosts& costs,
                                              PortModel ports);

}  // namespace weir::planner::tree
