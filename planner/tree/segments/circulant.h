#pragma once

// Round-optimal reduction of q segments on any number of machines, and its interleaved form for
// overlap. Upstream: selection, instance files. Downstream: Schedule.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// One message of a round.
struct RoundMessage {
  MachineIndex sender = 0;
  MachineIndex receiver = 0;
  std::int32_t segment = 0;
};

/// Returns the ceil(log2 p) + q - 1 rounds in which q segments are reduced to machine 0, no machine
///   sending or receiving twice in a round: the reversal of Traeff's circulant broadcast, messages
///   that bring nothing new left out.
///
/// Requires: p >= 1, q >= 1. Needs a commutative operation.
/// Time: O(p q) and O(p log^2 p) for the receive schedules.
/// Source: 002, "Bidirectional" (optimal broadcast of Traeff and Ripke in reverse).
/// Checked by: tests/unit/planner_tree/schedules_test.cc, segmented_property_test.cc.
std::vector<std::vector<RoundMessage>> CirculantRounds(std::int32_t p, std::int32_t q);

/// Schedules the circulant rounds, each message as early as its ports allow in round order.
///
/// Bounds: full duplex without overlap, equal segments: exactly (ceil(log2 p) + q - 1)(t_comm +
///   t_comp). Errors: kInvalidArgument naming p, segments, alpha, beta, gamma.
absl::StatusOr<Schedule> CirculantSchedule(std::int32_t p, std::vector<double> units,
                                           const LinkCosts& costs, PortModel ports);

/// Schedules two half-problems in alternate rounds, so that a machine combines one while it
/// transfers the other.
///
/// Bounds: at most (2 ceil(log2 p) + q) max(d, c) with overlap and equal segments, d = alpha + beta
///   s, c = gamma s; within 6 % of B(p; d, c) + (q - 1) max(d, c) for q >= 80 (measured).
absl::StatusOr<Schedule> InterleavedSchedule(std::int32_t p, std::vector<double> units,
                                             const LinkCosts& costs, PortModel ports);

/// Returns B(p; d, c) + (q - 1) max(d, c), below which no reduction of q equal segments with
/// overlap ends; B is the length of Algorithm 1 of 000. Errors: kInvalidArgument naming n, d or c.
absl::StatusOr<Seconds> OverlapLowerBound(std::int64_t p, std::int64_t q, ElementCosts costs);

}  // namespace weir::planner::tree
