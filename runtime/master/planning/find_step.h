#pragma once

// A step of a plan by the name that errors and people use. Pure. Upstream: JobRun.

#include <string_view>

#include "planner/explain/plan_report.h"
#include "planner/plan/plan.h"

namespace weir::master {

/// Null where the plan has no step of that name. O(steps).
inline const planner::ComputeStep* FindStep(const planner::Plan& plan, std::string_view name) {
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (planner::StepName(plan, static_cast<planner::StepIndex>(s)) == name) return &plan.steps[s];
  }
  return nullptr;
}

}  // namespace weir::master
