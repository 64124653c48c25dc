#pragma once

// The plan of a job whose layers are combined along reduction trees where they can be.
// Upstream: PlanJob. Downstream: tree_layer (one layer), planner/tree (schedules), plan_assembly
// (layers that shuffle).

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/job/job_shape.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// One way to carry out a job and its predicted makespan.
struct JobCandidate {
  std::string name;
  Seconds makespan_s = 0;
};

/// The best plan by trees, and all that were tried: each way once, the shortest first.
struct TreePlans {
  Plan plan;
  std::vector<JobCandidate> candidates;
};

/// True when some layer's input can be combined before it is reduced.
bool CanCombine(const JobShape& shape);

/// Builds plans in which every layer that can be combined is, and returns the one that is predicted
/// to end first.
///
/// Model: mappers are those of `shuffle`, a plan of the same job, and for mappers whose number is
///   open also one a worker with input in proportion to its rate. Their ends are release dates.
///   Schedules are all that EveryReduction offers: of equal hosts, and of slow ports where there
///   are some; under a limit on all pairs; segments no shorter than kShortestGrantS on the wire,
///   one where values do not split, and where operands keep their order only schedules that do.
///   Each becomes a whole plan: Predict, which knows the real network, workers and growing tables,
///   decides. A layer gets the reducers that were asked for, one root with key ranges of its own
///   each; the last layer otherwise one root, so one file; others one, or as many as in `shuffle`.
///   Layers that cannot be combined are shuffled as in EvenPlan, into the reducers of `shuffle`.
/// Returns a kStrict plan with summary.lower_bound_s of CombinedLowerBound, its makespan at most.
/// Errors: kFailedPrecondition, kInvalidArgument saying why no tree applies.
/// Requires: CheckJobShape and CheckCluster are OK; CanCombine. Thread-safety: pure; same input,
///   same plan.
/// Time: tries at least one plan, and others while their messages, counted kTreeSecondsPerMessage
///   each, take less than kPlanningPart of the makespan of `shuffle`, and than kTreePlanningMax.
/// Checked by: tests/unit/planner_job/tree_plan_test.cc, tree_plan_property_test.cc.
absl::StatusOr<TreePlans> TreePlansOfJob(const JobShape& shape, const ClusterProfile& cluster,
                                         const Plan& shuffle);

}  // namespace weir::planner
