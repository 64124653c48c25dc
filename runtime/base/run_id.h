#pragma once

// What master, worker and task call the run that an attempt of a step makes, and the files beside
// it. Pure.

#include <string>

namespace weir {

/// Returns "<step>.<attempt>". It is unique within the runs of one plan epoch, and a file name.
std::string RunIdOf(int step, int attempt);

/// Returns how the names of files begin that hold what the memory of an attempt did not, in the
/// directory of its task; a number follows, and nothing else.
std::string SpillPrefixOf(int step, int attempt);

}  // namespace weir
