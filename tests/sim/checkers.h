#pragma once

// What must hold after every run, from the trace, the journal and the file system alone.

#include <string>
#include <vector>

#include "tests/sim/scenario.h"

namespace weir::sim {

/// Returns one sentence for every promise that was broken; empty when all hold.
std::vector<std::string> CheckRun(const Scenario& scenario);

/// Jobs of a run whose time was promised, and those that missed kPredictionShare and
/// kPredictionSeconds.
struct Predictions {
  int jobs = 0;
  int far = 0;
};
Predictions CountPredictions(const Scenario& scenario);

}  // namespace weir::sim
