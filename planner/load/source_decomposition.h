#pragma once

// The source's own construction of a communication schedule for one interval (section 4.3):
// reference for matching_schedule.h, far slower.
// Upstream: source_program.h. Downstream: pieces.

#include <vector>

#include "absl/status/statusor.h"
#include "planner/load/communication.h"

namespace weir::planner::load {

/// Schedules `send_time` within [begin, begin + length) by the algorithm of 4.3: set F by a network
/// flow with lower bounds (figure 2), shown for epsilon, and so on.
///
/// Symbols: W = [w_jk], critical rows and columns, F, v_min, v_max, epsilon as in 4.3.
/// Erratum applied: when nothing is critical the zero flow is feasible and F would be empty; then F
///   is any maximal matching of at most l pairs.
/// Errors: kInternal when no feasible flow exists (the demand does not fit) or no progress is made.
/// Time: O(n1 + n2 + n1 n2 + 1) flows.
/// Source: 004, section 4.3, theorem 4.2.
absl::StatusOr<std::vector<Piece>> SourceDecomposition(std::vector<std::vector<double>> send_time,
                                                       double begin, double length,
                                                       std::int32_t channels);

}  // namespace weir::planner::load
