#pragma once

// Puts intervals into rows without overlap. Upstream: gantt_lanes (channels), chrome_trace (ports).

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {

struct IntervalRows {
  std::vector<std::size_t> row_of;  // by position in the input
  std::size_t num_rows = 0;
};

/// Assigns each interval to the lowest row that is free at its start, earliest start first (ties by
/// position). Uses as many rows as intervals overlap at most, so for transfers across a cut, one
/// interval for each lane that they take, num_rows is the number of lanes in use. Overlaps below
/// 1e-9 of the last finish are rounding and count as none.
/// Thread-safety: pure. O(n log n) time.
/// Checked by: tests/unit/planner_plan/gantt_test.cc.
IntervalRows AssignRows(absl::Span<const Interval> intervals, Seconds tolerance_s);

}  // namespace weir::planner
