#pragma once

// The plan of a job by divisible load: chunk sizes and load fractions from planner/load, the order
// of transfers by whichever of its schedules predicts best.
// Upstream: PlanJob. Downstream: job_chain (what is solved), load_split (who gets what),
// split_assembly (the plans that compete).

#include "absl/status/statusor.h"
#include "planner/job/job_shape.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Builds the plan that is predicted to end first.
///
/// Model: the chain of 004 with l = EffectiveChannels, linear reducers, results kept where they are
///   made. A worker holds mapper j and reducer k at once, so one part in max(m, r) of the data does
///   not move: C is reduced by it. Loads are solved for all workers, for the numbers of mappers and
///   reducers that the chain chooses, and for 1, 2, 4, ... workers; reducers go to the mappers'
///   workers or away from them; on unequal workers loads are also weighted by their rates.
///   Each is assembled with several transfer orders (the schedule's pieces, one transfer a pair in
///   the schedule's order, list order, rotation), as is the even split; Predict, which knows the
///   real network and workers, decides. Finer orders must win by a hundredth: they cost grants.
///   No piece of a section is shorter than 80 ms on the wire. Where the network is known, the best
///   split also competes as a plan by rates, which must win by kRatesReserve (planning_effort.h),
///   and as one whose receivers fetch from all senders at once.
///   Where a gap is known, the best order competes with ports that carry some transfers at a time
///   (BestLanes, which says what they must gain).
///   Borders between mappers then move to where the input can be cut (MapChunks), mappers without
///   input are left out.
/// Proven: never worse than EvenPlan as predicted; summary.lower_bound_s of JobLowerBound holds for
///   every plan.
/// Measured: how close it comes, see docs/planner-load.md.
/// Requires: CheckJobShape and CheckCluster are OK.
/// Errors: those of EvenPlan. Thread-safety: pure; same input, same plan.
/// Time: some dozens of predictions up to 10 000 pairs a layer, a dozen above; fewer where they
///   would take more than 3 % of the best makespan found so far, counted by pairs tried. The even
///   split is always tried. Bending the fractions of the chains takes as much once more at most, or
///   half a second if that is more. `effort` in (0, 1] is the part of all this that this call may
///   take.
absl::StatusOr<Plan> LoadPlan(const JobShape& shape, const ClusterProfile& cluster,
                              double effort = 1);

}  // namespace weir::planner
