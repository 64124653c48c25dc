#pragma once

// What must hold of plans that are edited. Upstream: checkers.cc. Downstream: World.

#include <string>
#include <vector>

#include "tests/sim/world.h"

namespace weir::sim {

/// A job whose plan ran, was not given and could be edited is not planned again, as long as
/// somebody who works in that plan was not lost: so steps that are done twice are those that an
/// edit names.
void CheckPlannedOnce(World& world, std::vector<std::string>& findings);

}  // namespace weir::sim
