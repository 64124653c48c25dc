#pragma once

// Reads plans that were written before cuts carried rate. Upstream: plan_wire. Downstream:
// cut_lanes.

#include "planner/plan/plan.h"

namespace weir::planner {

/// Gives lanes to a plan in which each transfer holds one whole channel of every cut that it
/// crosses, slow ports or not, as plans did before there were lanes (cut_lanes.h).
///
/// A list of such a plan is a channel: it becomes the lanes of one, and each transfer stands in as
/// many of them as it takes, the first ones. What followed on a channel still does, so the planned
/// times hold as they are; they are no longer the earliest.
/// Leaves alone: plans that have lanes, that need none (no slow port), or that are neither; what is
/// wrong with the last is for CheckPlan to say.
/// Thread-safety: pure. O(workers + transfers * cuts) time.
/// Checked by: tests/unit/planner_wire/plan_wire_test.cc.
void SplitWholeChannels(Plan* plan);

}  // namespace weir::planner
