#pragma once

// From a checked job to its plan: what is known of it, a sample where that pays, the planner.
// Upstream: JobRun, the master's dry runs. Downstream: SampleRun, PlanRequest, PlannedJob.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "jobs/api/job_definition.h"
#include "runtime/env/callback_scope.h"
#include "runtime/master/input/cold_input.h"
#include "runtime/master/input/input_ranges.h"
#include "runtime/master/learning/shape_history.h"
#include "runtime/master/options/master_options.h"
#include "runtime/master/options/master_seams.h"
#include "runtime/master/planning/planned_job.h"
#include "runtime/master/sample/sample_design.h"
#include "runtime/master/sample/sample_run.h"
#include "runtime/master/workers/worker_table.h"

namespace weir::master {

struct PlanRequest;

/// What is asked of the disks before a plan.
struct DiskQuestion {
  std::vector<FilePlaces> input = {};  // to be looked at; none: not asked
  bool output = false;
};

/// Seconds per byte that the disks take; 0: not known, or nobody waits for them.
struct DiskTimes {
  double input = 0;
  double output = 0;
};

/// Plans one job.
///
/// Thread-safety: on the loop only. What goes wrong with the sample is a note in the plan.
/// Checked by: tests/unit/master/sample_test.cc, input_weights_test.cc, tests/sim.
class Planning {
 public:
  Planning(const MasterSeams& seams, const MasterOptions& options, const ShapeHistory& history,
           Epoch master_epoch, std::string job_id, v1::JobSpec spec);

  /// Runs a sample unless a similar job on the same input is known, the policy says no, or `busy`
  /// says whose figures it would spoil. Where a similar job on other input is known (of several the
  /// one whose data looks alike), its small part says whether that was of data alike, or all of it
  /// which other one was; only then is it used, and not where nothing was seen of that data.
  /// Without a sample a look at some places of both says it (CountsUnsampled). `sampled` comes
  /// once, perhaps at once, unless Stop comes before.
  void Sample(const InputList& input, const std::vector<RegisteredWorker>& workers,
              const std::string& busy, absl::AnyInvocable<void()> sampled);
  /// Plans from now on are predicted as beside these jobs.
  void ShareWith(std::vector<std::string> jobs) { jobs_beside_ = std::move(jobs); }
  /// The job gets this part of each worker's memory limit.
  void ShareMemory(double share) { memory_share_ = share; }
  using MeasureDisks = std::function<DiskTimes(const DiskQuestion&)>;
  /// Asked on the disk pool, before a plan: once of a large input (PlacesToAsk), whatever is known
  /// of the job, and once of the output where the job MayWaitForOutput.
  void MeasureDisksBy(MeasureDisks measure) { measure_disks_ = std::move(measure); }
  /// `note` is one more sentence for the people who read the plan, or empty. `done` comes once.
  /// Requires: `workers` is not empty.
  void Plan(const InputList& input, const std::vector<RegisteredWorker>& workers,
            const std::string& note, absl::AnyInvocable<void(absl::StatusOr<PlannedJob>)> done);

  /// The sample under way or not yet released; null: none.
  SampleRun* sample() const { return sample_ && !sample_->released() ? sample_.get() : nullptr; }
  void Stop();
  /// `released` comes once no worker holds the sample, perhaps at once.
  void WhenReleased(absl::AnyInvocable<void()> released);

  /// What was known of similar jobs when this one was planned; null: nothing.
  const v1::JobShapeLearned* history() const { return known_ ? &*known_ : nullptr; }
  /// What is known of the job's data, by its own sample or an earlier one of data alike.
  const v1::JobShapeLearned::DataSeen* data_seen() const {
    return seen_ ? &*seen_ : known_ && known_->has_seen() ? &known_->seen() : nullptr;
  }

 private:
  using PlanDone = absl::AnyInvocable<void(absl::StatusOr<PlannedJob>)>;
  DiskQuestion QuestionFor(const InputList& input, const PlanRequest& request) const;
  void PlanWith(PlanRequest request, PlanDone done);
  void TakeSample(v1::JobShapeLearned shape, double chunk_bytes, double input_bytes);
  /// Nothing: the job is not to be sampled.
  std::optional<SampleDesign> DesignOf(const JobDefinition& job, bool combines,
                                       const InputList& input,
                                       const std::vector<RegisteredWorker>& workers) const;
  /// Forgets what is known of data that looks unlike this.
  void LookInstead(const JobRates& rates, const InputList& input);
  SampleScale ScaleOf(const InputList& input, const std::vector<RegisteredWorker>& workers) const;

  const MasterSeams& seams_;
  const MasterOptions& options_;
  const ShapeHistory& history_;
  const Epoch master_epoch_;
  const std::string job_id_;
  const v1::JobSpec spec_;
  std::optional<v1::JobShapeLearned> known_;
  // What else is known of similar jobs while a sample runs, the nearest first.
  std::vector<v1::JobShapeLearned> known_beside_;
  std::optional<v1::JobShapeLearned> sampled_;
  std::optional<v1::JobShapeLearned::DataSeen> seen_;
  std::vector<std::string> jobs_beside_;
  double memory_share_ = 1;
  MeasureDisks measure_disks_;
  // 0: cannot be told.
  std::optional<double> input_seconds_per_byte_;
  std::optional<double> output_seconds_per_byte_;
  std::string note_;
  std::unique_ptr<SampleRun> sample_;
  env::CallbackScope callbacks_;
};

}  // namespace weir::master
