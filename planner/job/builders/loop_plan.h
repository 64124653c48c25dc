#pragma once

// The plan of a job that is a loop: all of its iterations, unrolled.
// Upstream: PlanJob. Downstream: planner/tree (reductions, broadcasts), CheckPlan (CheckLoops).

#include "absl/status/statusor.h"
#include "planner/job/job_shape.h"
#include "planner/job/loop_shape.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Builds the plan of a loop up to its limit of iterations; a run may end it earlier.
///
/// Model: a mapper on every worker, or on the fastest (as many as the shape asks for, or as can
///   read packed files), reads its part of the input, in proportion to the workers' rates, and
///   keeps it. In each iteration the mappers' elements are folded along one schedule of
///   planner/tree, an update step at its root makes the next state, and a broadcast tells it to the
///   other mappers. A mapper's next step begins when it has the state. One reduce step at the root
///   makes the part of the last state. Where a range of places can be updated alone
///   (LoopShape::element_wise), each mapper may fold and update its range and send it to all
///   others; then each makes the part of its range. The reduction (the choice of ChooseReduction,
///   the same with one segment, both as if all ports were equal where they are not, all to one) and
///   the broadcast (fastest node first, one to all), or the ranges a mapper (1, 2, 4), are those
///   that end two iterations first, by prediction; ties go to the earlier, trees before ranges.
///   `ways` leaves out some. The root is the mapper whose port is slowed down least, of several the
///   fastest, or mapper 0 where elements are folded in the order of the input.
/// Requires: CheckJobShape and CheckCluster are OK.
/// Returns: a kStrict plan with orders and times, Predict's makespan, method "loop", no bound;
///   summary.notes say what an iteration takes, by phase, beside all to one and each family.
/// Errors: kInvalidArgument naming a field of the loop, or the number of steps and transfers above
///   kLoopItemsMax.
/// Thread-safety: pure. Same input, same plan.
/// Checked by: tests/unit/planner_job/loop_plan_test.cc.
absl::StatusOr<Plan> LoopPlan(const JobShape& shape, const LoopShape& loop,
                              const ClusterProfile& cluster, LoopWays ways = LoopWays::kAll);

}  // namespace weir::planner
