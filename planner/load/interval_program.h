#pragma once

// Small layers with unequal receivers: what each pair sends in each interval, optimally, for given
// loads.
// Upstream: schedule_layer.cc. Downstream: matching_schedule.h (one window an interval).

#include <vector>

#include "absl/status/statusor.h"
#include "planner/load/communication.h"
#include "planner/load/source_program.h"

namespace weir::planner::load {

/// Solves the programs (3)-(7), (13)-(17) for fixed t and x: least T, and beta for every interval
/// between releases.
///
/// Model: min T; beta_ijk >= 0 for senders j released by t_i; per interval: each receiver (3), each
///   sender (4) at most the interval's length, all together l times it (5); over intervals: all is
///   sent (7). Equal releases make one interval.
/// Errors: kInternal when Clp fails.
/// Time: seconds from about 30 000 variables on.
absl::StatusOr<std::vector<IntervalTransfers>> SolveIntervalProgram(const ShuffleDemand& demand);

}  // namespace weir::planner::load
