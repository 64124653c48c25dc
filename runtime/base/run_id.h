#pragma once

// What master, worker and task call the run that an attempt of a step makes. Pure.

#include <string>

namespace weir {

/// Returns "<step>.<attempt>". It is unique within the runs of one plan epoch, and a file name.
std::string RunIdOf(int step, int attempt);

}  // namespace weir
