#pragma once

// What a restart of the master, or of a worker, costs: maps that were done, and were done again.
// Upstream: the journal of a run. Downstream: checkers, weir_sim.

#include <cstdint>

#include "tests/sim/world.h"

namespace weir::sim {

/// Steps of map, of jobs whose plan ran when a master ended, of a kind of plan that is edited.
struct MapsRedone {
  int done = 0;    // by then, as the journal has it
  int redone = 0;  // of those, by the next master
};

MapsRedone CountMapsRedone(World& world);

/// Workers that were killed, and back before the plan was edited for their loss.
struct WorkersBack {
  int restarts = 0;
  std::int64_t runs_kept = 0;  // that counted as before
};

WorkersBack CountWorkersBack(World& world);

}  // namespace weir::sim
