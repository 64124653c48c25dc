#pragma once

// Knows which jobs a worker holds and refuses whatever is stale or repeated. Pure.
// Upstream: WorkerDaemon (calls of the master). Downstream: its answers decide what WorkerJob is
// told.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/v1/steps.pb.h"

namespace weir::worker {

/// What became of a call that may come twice. kRenewed: a job that is held, under a new plan;
/// kBegunAnew: the same, where orders of the old plan were taken: what they made must go first.
enum class Admission { kNew, kRepeated, kRenewed, kBegunAnew };

/// Fences a worker's jobs.
///
/// A call must carry the master epoch and the worker epoch of the present registration and the plan
/// epoch of its job. A step or transfer is taken once per attempt; taking it again is not an error
/// and does nothing. Within one registration a released job comes back under a higher plan epoch
/// only (the worker was left out of the job, and is needed after all): a late or doubled PrepareJob
/// is refused, and so is a late ReleaseJob of an earlier plan.
/// Errors, of all methods: kInvalidArgument (a fence without job or attempt), kUnavailable (not
///   registered, or the job's earlier
///   life still ends: ask again), kAborted (stale), kNotFound (job not held).
/// Bounds: remembers the last kReleasedMax released jobs, with their last output.
/// Checked by: tests/unit/worker/job_table_test.cc.
class JobTable {
 public:
  static constexpr std::size_t kReleasedMax = 32;

  /// From now on calls are accepted under these epochs only.
  void Open(std::int64_t worker_epoch, std::int64_t master_epoch);
  /// From now on calls are refused until Open.
  void Close();

  /// Takes a job in, or goes over to a higher plan epoch of a job that is held; orders under the
  /// old one are stale from here on. Errors: kAborted for a lower epoch.
  absl::StatusOr<Admission> Prepare(const v1::Fence& fence);
  absl::StatusOr<Admission> TakeStep(const v1::Fence& fence, int step);
  absl::StatusOr<Admission> TakeTransfer(const v1::Fence& fence, int transfer);
  /// Gives back what TakeStep or TakeTransfer took, when it could not be started after all.
  void ForgetStep(const v1::Fence& fence, int step);
  void ForgetTransfer(const v1::Fence& fence, int transfer);

  /// Says whether an order for several transfers, which takes none, comes under the present plan of
  /// a job that is held.
  absl::Status CheckRates(const v1::Fence& fence);

  /// Starts the release of a held job; steps and transfers are refused from here on. kRepeated: it
  /// goes on already. kNotFound: not held, so there is nothing to release. kAborted also: held
  /// under a higher plan epoch.
  absl::StatusOr<Admission> BeginRelease(const v1::Fence& fence);
  /// The same for a release that the worker begins by itself.
  void MarkReleasing(const std::string& job_id);
  /// Removes the job and keeps `output_tail` for a repeated release.
  void EndRelease(const std::string& job_id, std::string output_tail);
  /// Returns what EndRelease kept.
  std::optional<std::string> ReleasedOutput(const std::string& job_id) const;

  /// Says whether an order that concerns no job comes from the present master to the present
  /// registration.
  absl::Status CheckProbe(const v1::Fence& fence) const { return CheckEpochs(fence); }

  /// Returns how many jobs are held, those under release too.
  std::size_t num_held() const { return jobs_.size(); }

 private:
  // (step or transfer, attempt)
  using Taken = std::set<std::pair<int, int>>;
  struct Job {
    std::int64_t plan_epoch = 0;
    std::int64_t worker_epoch = 0;
    bool releasing = false;
    Taken steps;
    Taken transfers;
  };

  absl::Status CheckEpochs(const v1::Fence& fence) const;
  absl::StatusOr<Job*> FindForOrder(const v1::Fence& fence);
  // Requires: present epochs.
  absl::StatusOr<Job*> FindJob(const v1::Fence& fence);
  static Admission Take(Taken& taken, int index, int attempt);

  bool open_ = false;
  std::int64_t worker_epoch_ = 0;
  std::int64_t master_epoch_ = 0;
  absl::btree_map<std::string, Job> jobs_;
  struct Released {
    std::string job_id;
    std::int64_t plan_epoch = 0;
    std::string output_tail;
  };
  // The last release of `job_id`, or the end.
  std::deque<Released>::const_iterator FindReleased(const std::string& job_id) const;

  std::deque<Released> released_;  // oldest first, each job once
};

}  // namespace weir::worker
