#pragma once

// How many map steps a worker gets whose memory does not hold the pairs of one. Upstream:
// plan_request.h. Downstream: the planner.

#include "runtime/master/planning/plan_request.h"

namespace weir::master {

/// Pairs that nobody combines stay in memory until their step has sorted them. Where they are more
/// than half of what a task may hold, workers get several map steps: what each sorts is a run at
/// once, and one step would put it on disk first and merge it then. Leaves the request as it is
/// where the number of mappers was asked for, the input cannot be cut, the job is a loop, pairs are
/// combined, or a worker has no limit. Pure.
/// Checked by: tests/unit/master/memory_cut_test.cc.
void CutByMemory(PlanRequest& request);

}  // namespace weir::master
