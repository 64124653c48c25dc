#pragma once

// What the journal may say: every step committed once, no epoch used twice, no loss forgotten, jobs
// in their turn. Upstream: checkers.

#include "tests/sim/findings.h"
#include "tests/sim/world.h"

namespace weir::sim {

/// Epochs of workers are those of the trace; losses are also what users are told of them.
void CheckJournal(World& world, Findings& findings);

}  // namespace weir::sim
