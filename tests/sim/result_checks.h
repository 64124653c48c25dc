#pragma once

// What lies in the output: whole or not at all, and made of each byte of the input once. Upstream:
// checkers.

#include <vector>

#include "tests/sim/contents.h"
#include "tests/sim/findings.h"
#include "tests/sim/scenario.h"

namespace weir::sim {

/// `expected` says whether staging may stay.
void CheckOutput(World& world, const Expectations& expected, Findings& findings);

/// Finds a result that is not that of one mapper alone: in all places the whole input, in its
/// order.
void CheckMadeOf(const std::vector<InputPiece>& inputs, const UserJob& job, World& world,
                 Findings& findings);

}  // namespace weir::sim
