#pragma once

// What lies in the output: whole or not at all, and made of each byte of the input once. Upstream:
// checkers.

#include "tests/sim/findings.h"
#include "tests/sim/scenario.h"

namespace weir::sim {

/// `expected` says whether staging may stay.
void CheckOutput(World& world, const Expectations& expected, Findings& findings);

}  // namespace weir::sim
