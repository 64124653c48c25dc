#pragma once

// How jobs may end, when, and what they may leave behind on workers. Upstream: checkers.

#include "tests/sim/findings.h"
#include "tests/sim/scenario.h"

namespace weir::sim {

/// `expected` says which ends the faults of the run may lead to.
void CheckEndings(World& world, const Expectations& expected, Findings& findings);

}  // namespace weir::sim
