#pragma once

// New workers for a plan, drawn at random. For property tests of edits.

#include <cstdint>

#include "planner/edit/plan_change.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Returns one or two workers, of any rates, anywhere in the network of the plan and perhaps behind
/// a cut of their own; those of the plan have equal rates.
PlanChange::Added AnyAdded(const Plan& plan, std::uint64_t seed);

}  // namespace weir::planner
