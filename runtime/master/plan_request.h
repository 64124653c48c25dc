#pragma once

// What the planner is asked, and the whole answer. Pure; PlanTheJob runs on the compute pool.
// Upstream: JobSpec, JobInfo, workers, options. Downstream: planner/job; JobRun.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/job_definition.h"
#include "planner/job/plan_job.h"
#include "planner/plan/predict.h"
#include "runtime/master/input_ranges.h"
#include "runtime/master/master_options.h"
#include "runtime/master/worker_table.h"
#include "weir/v1/job.pb.h"
#include "weir/v1/plan.pb.h"

namespace weir::master {

/// One question to the planner.
struct PlanRequest {
  planner::JobShape shape;
  planner::ClusterProfile cluster;
  planner::PlanOptions options;
};

/// A plan that was checked and predicted.
struct PlannedJob {
  planner::Plan plan;
  planner::Prediction prediction;
  std::vector<std::string> worker_names;
  /// The network's rates are measured or given, not guessed.
  bool network_known = false;
  std::string plan_id;
  std::string plan_text;
  v1::Plan message;
};

/// Puts the question together: rates from the job's own defaults, requested numbers from the spec,
/// workers in the order given, the network from the options. A worker that was not measured counts
/// as one unit worker a slot. Requires: spec passed the checks of Submit; `workers` is not empty.
PlanRequest MakePlanRequest(const v1::JobSpec& spec, const JobInfo& info, std::int64_t input_bytes,
                            absl::Span<const RegisteredWorker> workers,
                            const planner::PlanOptions& plan_options, const MasterOptions& options);

/// Builds, checks, predicts and explains the plan. Errors: what the planner says; kInternal when
/// the planner's own plan does not hold.
absl::StatusOr<PlannedJob> PlanTheJob(const PlanRequest& request);

/// Checks, predicts and explains a plan for these workers (by WorkerIndex). Errors: kInternal when
/// it does not hold.
absl::StatusOr<PlannedJob> FinishPlannedJob(planner::Plan plan,
                                            std::vector<std::string> worker_names,
                                            const std::string& job);

}  // namespace weir::master
