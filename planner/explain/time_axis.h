#pragma once

// Tick marks of a time axis. Upstream: gantt_svg.

#include <string>
#include <vector>

#include "planner/plan/units.h"

namespace weir::planner {

struct TimeTick {
  Seconds at_s = 0;
  std::string label;
};

/// Returns ticks from 0 to `span_s` at round steps (1, 2 or 5 times a power of ten of one unit), at
/// most `ticks_max` of them, each labelled with number and unit.
/// Requires: span_s > 0 and finite; ticks_max >= 2.
/// Example: 7.3 s, at most 8 ticks -> 0, 2 s, 4 s, 6 s.
/// Checked by: tests/unit/planner_plan/gantt_test.cc.
std::vector<TimeTick> TimeTicks(Seconds span_s, int ticks_max);

}  // namespace weir::planner
