#pragma once

namespace weir::planner::tree {

/// Instances that a property is tried on.
inline constexpr int kRandomInstances = 10'000;

}  // namespace weir::planner::tree
