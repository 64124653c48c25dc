#pragma once

// What is wrong with a run. Upstream: whoever checks one. Downstream: checkers.

#include <string>
#include <vector>

namespace weir::sim {

/// One sentence for every promise that was broken.
using Findings = std::vector<std::string>;

}  // namespace weir::sim
