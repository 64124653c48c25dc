#pragma once

// Numbers as people read them. Upstream: Explain, notes. Fixed formats, so that texts can be
// compared in tests.

#include <optional>
#include <string>

#include "planner/plan/units.h"

namespace weir::planner {

/// Returns three significant digits with the unit that fits: "0 s", "850 us", "12.5 ms", "3.02 s",
/// "4 min 05 s", "2 h 07 min".
std::string ReadableSeconds(Seconds seconds);

/// Returns three significant digits with a decimal unit: "0 B", "999 B", "12.5 kB", "3.02 GB".
std::string ReadableBytes(double bytes);

/// Returns a share as percent with one digit after the point: "12.5 %".
std::string ReadablePercent(double share);

/// Returns "7.00 s at the plan's rates" of a lower bound on the makespan, and says so where the
/// actual makespan is below it: a bound holds for the rates the plan reckons with, and no others.
std::string ReadableBound(Seconds lower_bound, std::optional<Seconds> actual);

}  // namespace weir::planner
