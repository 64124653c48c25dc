#pragma once

// What one worker more would change, in words. Upstream: PlanJob. Downstream: planner/load.

#include <string>
#include <vector>

#include "planner/job/job_shape.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Returns sentences on what one more mapper, reducer or channel would change, by the model of
/// LoadPlan.
std::vector<std::string> OneMoreNotes(const JobShape& shape, const ClusterProfile& cluster,
                                      const Plan& plan);

}  // namespace weir::planner
