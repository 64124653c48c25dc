#pragma once

// The runs with which a job can go on under a later master. Upstream: WorkerJob, as steps are
// done. Downstream: the registration, which tells them; WorkerJob, which goes on with them.

#include <cstddef>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "runtime/env/storage.h"
#include "runtime/worker/job_paths.h"
#include "weir/v1/services.pb.h"

namespace weir::worker {

/// The published runs of one job, with what their steps reported. Pure.
/// Checked by: tests/unit/worker/worker_daemon_held_runs_test.cc.
class HeldRuns {
 public:
  HeldRuns() = default;
  explicit HeldRuns(const v1::HeldJob& earlier);

  /// They become part of a plan that goes on with them: made before its edits.
  void ForgetEdits();
  /// Remembers what a step has made under this fence. False: it has made no run.
  bool Add(const v1::Fence& fence, const v1::StepResult& result);
  void Remove(const std::string& run_id) { runs_.erase(run_id); }
  /// Forgets all but those of `told`.
  void LeaveOnly(const v1::HeldJob& told) { *this = HeldRuns(told); }
  void Clear() { runs_.clear(); }

  bool empty() const { return runs_.empty(); }
  /// By run id.
  const absl::btree_map<std::string, v1::HeldRun>& runs() const { return runs_; }
  /// What a master is told; `fence`: of the plan that the job ran.
  v1::HeldJob Tell(const v1::Fence& fence) const;
  /// The same of one run.
  v1::HeldJob Tell(const v1::Fence& fence, const std::string& run_id) const;

 private:
  absl::btree_map<std::string, v1::HeldRun> runs_;
};

/// Whether the runs belong to the plan that is asked for.
bool IsOfPlan(const v1::HeldJob& held, const v1::KeptPlan& plan);

/// Leaves of these jobs, by id, what a message of `bytes_max` can tell: newest jobs first, as ids
/// begin with the time, and of each what fits. Jobs of which nothing fits go.
/// Returns: how many runs were left out. Pure. O(sections). Checked by:
/// tests/unit/worker/held_runs_test.cc.
int LeaveWhatFits(absl::btree_map<std::string, v1::HeldJob>& jobs, std::size_t bytes_max);

/// Removes all that lies in a job's directory but these runs, with what stands beside them.
/// Blocking. Errors: as Storage.
absl::Status KeepOnly(env::Storage& storage, const JobPaths& paths, const HeldRuns& held);

/// Says whether these runs are there, as long as they were. Blocking. Errors: kDataLoss naming one
/// that is not; else as Storage.
absl::Status CheckThere(env::Storage& storage, const HeldRuns& held);

}  // namespace weir::worker
