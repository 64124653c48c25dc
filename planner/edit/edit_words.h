#pragma once

// What an edit did, in words for people. Upstream: EditPlan. Downstream: Explain, by
// PlanEdit::why.

#include <string>
#include <vector>

#include "planner/edit/plan_change.h"
#include "planner/edit/work_left.h"
#include "planner/plan/units.h"

namespace weir::planner {

/// A way to go on and when it ends, seconds since the start of the run.
struct WayWords {
  std::string name;
  Seconds makespan_s = 0;
};

/// Returns one or two sentences: what happened, what is done again or moves, which way was taken
/// and by how much it is better than the others.
std::string WhyText(const PlanState& before, const ChangedPlan& changed, const PlanChange& change,
                    const WorkLeft& left, const std::vector<WayWords>& ways, std::size_t taken,
                    Bytes moved_again);

}  // namespace weir::planner
