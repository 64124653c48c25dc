#pragma once

// What a restart of the master costs: maps that were done, and were done again by the next one.
// Upstream: the journal of a run. Downstream: checkers, weir_sim.

#include "tests/sim/world.h"

namespace weir::sim {

/// Steps of map, of jobs whose plan ran when a master ended, of a kind of plan that is edited.
struct MapsRedone {
  int done = 0;    // by then, as the journal has it
  int redone = 0;  // of those, by the next master
};

MapsRedone CountMapsRedone(World& world);

}  // namespace weir::sim
