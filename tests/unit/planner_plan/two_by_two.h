#pragma once

// The hand-solved plan of these tests: two workers, each with one mapper and one reducer.

#include "planner/plan/plan.h"

namespace weir::planner {

/// Returns the plan below; a network of 1 s per byte and no latency. `channels` bounds all pairs
/// together; 0 = no cut.
///
///   worker 0: step 0 map 2 s, 4 bytes out; step 2 reduces keys [0, 0.5) in 1 s
///   worker 1: step 1 map 3 s, 4 bytes out; step 3 reduces keys [0.5, 1) in 1 s
///   transfer 0: step 0 -> step 3, 2 bytes; transfer 1: step 1 -> step 2, 2 bytes; the rest stays
///   in place.
///
///   one channel:  t0 2..4, t1 4..6, step 3 4..5, step 2 6..7; makespan 7
///   no cut:       t0 2..4, t1 3..5, step 3 4..5, step 2 5..6; makespan 6
///   fetch all, 1: t0 2..5, t1 3..6, step 3 5..6, step 2 6..7; makespan 7
Plan TwoByTwo(int channels);

}  // namespace weir::planner
