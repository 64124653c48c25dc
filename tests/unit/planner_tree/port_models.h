#pragma once

// Ports of machines under the names that tests give them.

#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

inline constexpr PortModel kUnidirectional{false, false, true};  // 002, 003
inline constexpr PortModel kBidirectional{true, false, true};    // 002
inline constexpr PortModel kOverlap{true, true, true};

}  // namespace weir::planner::tree
