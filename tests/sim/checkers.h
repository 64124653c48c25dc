#pragma once

// What must hold after every run, from the trace, the journal and the file system alone.

#include <string>
#include <vector>

#include "tests/sim/scenario.h"

namespace weir::sim {

/// Returns one sentence for every promise that was broken; empty when all hold.
std::vector<std::string> CheckRun(const Scenario& scenario);

}  // namespace weir::sim
