#pragma once

// Plans drawn at random inside what CheckPlan accepts, for property tests of the conductor.

#include <cstdint>

#include "planner/plan/plan.h"

namespace weir::master {

/// Draws mappers, layers, reducers, networks (with and without cuts) and orders from `seed`.
/// Every transfer has bytes, so that a prediction charges what the conductor does.
planner::Plan RandomPlan(std::uint64_t seed, planner::TransferOrder order);

}  // namespace weir::master
