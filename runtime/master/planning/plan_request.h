#pragma once

// What the planner is asked. Pure. Upstream: JobSpec, JobInfo, workers, options, what is known of
// the job. Downstream: MakePlannedJob.

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "jobs/api/job_definition.h"
#include "planner/job/builders/plan_job.h"
#include "planner/job/job_shape.h"
#include "runtime/master/input/input_ranges.h"
#include "runtime/master/learning/shape_history.h"
#include "runtime/master/options/master_options.h"
#include "runtime/master/workers/worker_table.h"
#include "weir/v1/job.pb.h"
#include "weir/v1/journal.pb.h"

namespace weir::master {

/// What each further file takes that a mapper has to open, seconds on a worker of unit rate, where
/// neither a sample nor a run says it better. Word counts of 1000, 5000 and 20 000 files of 30
/// bytes took 15 to 20 us a file, on an idle machine of 2 cores.
/// The files were in the cache. Checked by: tests/unit/master/plan_request_test.cc.
inline constexpr double kFurtherFileSeconds = 1.7e-5;
/// So many of each mapper are no further ones: they take less than what a step takes at any size.
inline constexpr double kFirstFiles = 100;

/// Output, bytes, for which it is worth to measure what its disk takes (MeasureWriteSeconds): that
/// takes some 35 ms where this much takes 80.
inline constexpr double kMeasuredOutputBytes = 32e6;

/// One question to the planner.
struct PlanRequest {
  planner::JobShape shape;
  planner::ClusterProfile cluster;
  planner::PlanningOptions options;
  /// Who shares a file system with whom, by worker; empty: a worker has one of its own.
  std::vector<std::string> handover_domains;
  std::vector<std::string> notes;
};

/// What is known of the job and the workers beside the job's own defaults. Pointers may be null;
/// what they point to is copied.
struct PlanKnowledge {
  /// What can be combined of each reduce layer's input, one entry a layer; empty: nothing.
  std::vector<ElementInfo> elements;
  const v1::JobShapeLearned* history = nullptr;  // of a similar job
  const v1::JobShapeLearned* sample = nullptr;
  const ShapeHistory* workers = nullptr;  // speeds and channel
  /// Why there is no sample, for people; empty when nothing is to be said.
  std::string note;
  /// Ids of the jobs that run while this one is planned.
  std::vector<std::string> jobs_beside;
  /// What the job gets of each worker's memory limit.
  double memory_share = 1;
};

/// Returns what the job says of each of its layers. Requires: spec passed the checks of Submit.
std::vector<ElementInfo> ElementsOf(const v1::JobSpec& spec, const JobDefinition& job);

/// Whether so much is known to be written that what the disk takes for it may be longer than what
/// reducers compute, and no run of the job told. What moves must have been sampled: a guess is not
/// worth a measurement.
bool MayWaitForOutput(const planner::JobShape& shape, std::size_t num_workers);

/// Puts the question together: rates from sample, history or the job's own defaults, requested
/// numbers from the spec, workers in the order given, the network from the options, both corrected
/// by what runs taught. Beside other jobs each worker counts with its part of its compute rate.
/// Requires: spec passed the checks of Submit; `workers` is not empty.
PlanRequest MakePlanRequest(const v1::JobSpec& spec, const JobInfo& info, const InputList& input,
                            absl::Span<const RegisteredWorker> workers,
                            const planner::PlanningOptions& plan_options,
                            const MasterOptions& options, const PlanKnowledge& knowledge);

}  // namespace weir::master
