#pragma once

// Feasibility of a plan, independent of who built it.

#include "absl/status/status.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Checks that a plan can be executed and moves what it should.
///
/// Checks, in this order (each part has its own header: plan_structure, plan_loads, plan_graph,
/// plan_times): the network is valid; indices and sizes are in range; every step and transfer
/// stands in exactly the order lists it belongs to, in a cut in as many lanes as its rate takes;
/// the transfers of each section tile it (every byte exactly once), a section between workers has
/// at least one transfer even when it is predicted empty, and a section between steps of one worker
/// has none; map input ranges of layer 0 tile [0, total); layers of reducers follow one another
/// from 1 on; load fractions of each layer add up to 1 and key cuts tile [0, 1); each reducer has a
/// section from every step of the layer before, or every place of those steps' runs reaches the
/// reducers once through combine steps (check_combined), and sizes of runs and sections add up;
/// precedence, port orders and lane orders together have no cycle; under the planned start times no
/// port is used twice at once, or where transfers share it has more to move than it can, no cut
/// carries more than its channels, no step or transfer starts before what it waits for, transfers
/// last what the network says, and the summary agrees.
/// Errors: kInvalidArgument naming the rule, the step or transfer, and the two values that
///   disagree.
/// Thread-safety: pure.
/// Time: O((steps + transfers) log).
/// Source: 004 section 2 (one-port, l channels).
absl::Status CheckPlan(const Plan& plan);

}  // namespace weir::planner
