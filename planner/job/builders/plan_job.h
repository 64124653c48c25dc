#pragma once

// Chooses how a job is planned. The only planner entry that runtime/master calls.

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "planner/job/job_shape.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// How chunk sizes, load fractions and the transfer order are computed.
enum class PlanMethod {
  kLoad,      // divisible load: chunks, fractions and order by predicted makespan (load_plan.h)
  kEven,      // even chunks, uniform fractions, rotation order; for comparison
  kFetchAll,  // even chunks, uniform fractions, no order: every receiver fetches from all senders
              // at once, or from PlanningOptions::fetch_limit of them; for comparison
};

struct PlanningOptions {
  PlanMethod method = PlanMethod::kLoad;
  /// kFetchAll: see Plan::fetch_limit. Others: 0.
  std::int32_t fetch_limit = 0;
};

/// Returns the method of that name: "load", "even", "fetch-all", or "fetch-N" with N from 1 to 1000
/// (at most N fetches at a time into one receiver). Empty = the default.
/// Errors: kInvalidArgument with the names that exist.
absl::StatusOr<PlanningOptions> ParsePlanMethod(absl::string_view name);

/// Builds the plan of a job.
///
/// Requires: shape and cluster checked field by field. Returns a plan that CheckPlan accepts.
/// Errors: kInvalidArgument naming field, value and legal range; kFailedPrecondition when the
///   cluster has no worker.
/// Thread-safety: pure. Same input, same plan.
absl::StatusOr<Plan> PlanJob(const JobShape& shape, const ClusterProfile& cluster,
                             const PlanningOptions& options);

}  // namespace weir::planner
