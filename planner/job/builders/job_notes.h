#pragma once

// Sentences about a job's plan that an operator understands.
// Upstream: PlanJob. Downstream: Explain, the command line.

#include <string>
#include <vector>

#include "planner/job/job_shape.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Returns every rate and size that the plan was made from, and where each came from. What only
/// says how much steps put on disk is left out where none does.
std::vector<PlanNumber> JobNumbers(const JobShape& shape, const ClusterProfile& cluster,
                                   const Plan& plan);

/// Returns, in this order: what limits the job (map, channel, bisection, reduce or store) and what
/// would help; how much of the data stays on its worker; how the output is stored; workers without
/// work; steps whose memory does not hold all; what the lower bound means; which rates are only
/// guessed. Requires: the plan has its summary, and was made from `shape` and `cluster`.
std::vector<std::string> JobNotes(const JobShape& shape, const ClusterProfile& cluster,
                                  const Plan& plan);

}  // namespace weir::planner
