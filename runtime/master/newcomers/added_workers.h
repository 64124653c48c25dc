#pragma once

// What the planner is told of workers that a plan does not know, and whether they would get
// anything of it. Pure. Upstream: JobRun. Downstream: planner/edit, the cluster profile.

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/edit/plan_change.h"
#include "planner/edit/plan_state.h"
#include "runtime/master/learning/shape_history.h"
#include "runtime/master/options/master_options.h"
#include "runtime/master/planning/planned_job.h"
#include "runtime/master/workers/worker_table.h"

namespace weir::master {

/// A plan that ends sooner with them takes nobody: to prepare a worker, and an edit, take a part of
/// what they would gain.
inline constexpr planner::Seconds kNewcomerLeftS = 2;

/// Describes `added` beside `workers`, those of the plan, by WorkerIndex; of ones that an earlier
/// master knew there is only the name.
///
/// Model: rates and network are what a first plan of all of them would be made from, but for what
///   the plan in hand has between its own workers. Where cuts name workers, one that no cut names
///   has no known place beside them, unless some of the plan have none either.
/// Errors: kFailedPrecondition naming why: its place in the network is not known; runs are handed
///   over in place, which this one cannot.
/// Requires: `workers` and `added` are not empty. Thread-safety: pure.
/// Checked by: tests/unit/master/newcomers_test.cc.
absl::StatusOr<planner::PlanChange::Added> DescribeAdded(const PlannedJob& planned,
                                                         absl::Span<const RegisteredWorker> workers,
                                                         absl::Span<const RegisteredWorker> added,
                                                         const MasterOptions& options,
                                                         const ShapeHistory& learned);

/// Whether an edit would give a step to one of those that the change adds, with kNewcomerLeftS to
/// go. Pure; runs on the compute pool. Errors: as planner::EditPlan.
absl::StatusOr<bool> AddedGetWork(const PlannedJob& planned, const planner::PlanState& state,
                                  const planner::PlanChange& change);

}  // namespace weir::master
