#pragma once

// What the planner is asked, and the whole answer. Pure; MakePlannedJob runs on the compute pool.
// Upstream: JobSpec, JobInfo, workers, options. Downstream: planner/job; JobRun.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "jobs/api/job_definition.h"
#include "planner/job/plan_job.h"
#include "planner/plan/predict/predict.h"
#include "runtime/master/input/input_ranges.h"
#include "runtime/master/learning/shape_history.h"
#include "runtime/master/options/master_options.h"
#include "runtime/master/workers/worker_table.h"
#include "weir/v1/job.pb.h"
#include "weir/v1/plan.pb.h"

namespace weir::master {

/// One question to the planner.
struct PlanRequest {
  planner::JobShape shape;
  planner::ClusterProfile cluster;
  planner::PlanningOptions options;
  /// Who shares a file system with whom, by worker; empty: a worker has one of its own.
  std::vector<std::string> handover_domains;
  std::vector<std::string> notes;
};

/// A plan that was checked and predicted.
struct PlannedJob {
  planner::Plan plan;
  planner::Prediction prediction;
  std::vector<std::string> worker_names;
  /// The network's rates are measured or given, not guessed.
  bool network_known = false;
  /// What it was made from.
  planner::JobShape shape;
  planner::ClusterProfile cluster;
  std::string plan_id;
  std::string plan_text;
  v1::Plan message;
};

/// Where the numbers of the network between these workers come from.
planner::Origin OriginOfNetwork(absl::Span<const RegisteredWorker> workers,
                                const MasterOptions& options);

/// What is known of the network between workers that do not share a file system: given, else
/// measured. What neither says is default.
NetworkSpec KnownNetwork(const MasterOptions& options);

/// Rate of a worker by its profile; one that was not measured counts as a unit worker a slot.
double ComputeRate(const RegisteredWorker& worker);

/// Whether all workers hand runs over in place: they are on one machine. Requires: not empty.
bool SameHost(absl::Span<const RegisteredWorker> workers);

/// What is known of the job and the workers beside the job's own defaults. Pointers may be null;
/// what they point to is copied.
struct PlanKnowledge {
  const v1::JobShapeLearned* history = nullptr;  // of a similar job
  const v1::JobShapeLearned* sample = nullptr;
  const ShapeHistory* workers = nullptr;  // speeds and channel
  /// Why there is no sample, for people; empty when nothing is to be said.
  std::string note;
};

/// Puts the question together: rates from sample, history or the job's own defaults, requested
/// numbers from the spec, workers in the order given, the network from the options. A worker that
/// was not measured counts as one unit worker a slot. Requires: spec passed the checks of Submit;
/// `workers` is not empty.
PlanRequest MakePlanRequest(const v1::JobSpec& spec, const JobInfo& info, const InputList& input,
                            absl::Span<const RegisteredWorker> workers,
                            const planner::PlanningOptions& plan_options,
                            const MasterOptions& options, const PlanKnowledge& knowledge);

/// Builds, checks, predicts and explains the plan. Errors: what the planner says; DISK_FULL when a
/// worker would hold more than its disk has free, by numbers that were measured, not guessed;
/// kInternal when the planner's own plan does not hold.
absl::StatusOr<PlannedJob> MakePlannedJob(const PlanRequest& request);

/// Checks, predicts and explains a plan for these workers (by WorkerIndex). Errors: kInternal when
/// it does not hold.
absl::StatusOr<PlannedJob> FinishPlannedJob(planner::Plan plan,
                                            std::vector<std::string> worker_names,
                                            const std::string& job);

}  // namespace weir::master
