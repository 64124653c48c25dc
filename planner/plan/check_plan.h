#pragma once

// Feasibility of a plan, independent of who built it.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Checks that a plan can be executed and moves what it should.
///
/// Checks, in this order: the network is valid; indices and sizes are in range; every step and
/// transfer stands in exactly the order lists it belongs to; the transfers of each section tile it
/// (every byte exactly once) and a section between steps of one worker has none; map input ranges
/// of layer 0 tile [0, total); load fractions of each layer add up to 1 and key cuts tile [0, 1);
/// precedence, port orders and channel orders together have no cycle; under the planned start times
/// no port is used twice at once, no cut exceeds its channels, no step or transfer starts before
/// what it waits for. Errors: kInvalidArgument naming the rule, the step or transfer, and the two
/// values that disagree. Thread-safety: pure. Time: O((steps + transfers) log). Source: DESIGN
/// section 1 and "Conductor"; 004 section 2 (one-port, l channels).
absl::Status CheckPlan(const Plan& plan);

}  // namespace weir::planner
