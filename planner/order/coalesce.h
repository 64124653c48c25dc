#pragma once

// Joins pieces of a section that are too short for a grant of their own. Upstream: OrderBySlack,
// which cuts, and whoever lists pieces. Downstream: the orders of the plan.

#include "planner/plan/plan.h"

namespace weir::planner {

/// Shortest transfer worth a grant: below about this much time on the wire its messages show
/// (measured: 1 MB at 100 Mbit/s).
inline constexpr Seconds kShortestGrantS = 0.08;

/// Joins neighbouring pieces of each section until one takes `shortest_s` on its way, or is the
/// whole section. What is left over at the end goes with the piece before it. A joined piece has
/// the planned start of its first part. Requires: transfers of a section are whole or pieces
/// without gaps; plan->network and steps are
///   sound; no orders yet (the indices of transfers change).
/// Thread-safety: pure. Source: the measurement of kShortestGrantS.
/// Checked by: tests/unit/planner_plan/coalesce_test.cc.
void CoalescePieces(Seconds shortest_s, Plan* plan);

}  // namespace weir::planner
