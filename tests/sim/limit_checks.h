#pragma once

// That nothing carries more at once than it may: ports, cuts, stores. Upstream: checkers.

#include "tests/sim/findings.h"
#include "tests/sim/world.h"

namespace weir::sim {

/// By the bytes that moved and the parts that were written, as the trace has them.
void CheckLimits(World& world, Findings& findings);

}  // namespace weir::sim
