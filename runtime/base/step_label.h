#pragma once

// What a step is called in errors and logs. Upstream: workers and tasks, which know the order only.

#include <string>

#include "weir/v1/steps.pb.h"

namespace weir {

/// Returns "map 3", "reduce 0", "layer 2 reduce 0" or "write 1", as plans name them.
std::string StepLabel(const v1::StepOrder& order);

}  // namespace weir
