#pragma once

// The worker daemon: what the master may order, and the life between registration and stop.
// Upstream: master (WorkerService), runtime/app (Start, Drain, Stop). Downstream: LeaseKeeper and
// JobTable decide, WorkerJob acts.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "runtime/artifacts/artifact_cache.h"
#include "runtime/base/limits.h"
#include "runtime/rpc/serve.h"
#include "runtime/worker/job_table.h"
#include "runtime/worker/lease_keeper.h"
#include "runtime/worker/prober.h"
#include "runtime/worker/work_directory.h"
#include "runtime/worker/worker_job.h"
#include "runtime/worker/worker_options.h"
#include "runtime/worker/worker_seams.h"

namespace weir::worker {

/// Serves one worker.
///
/// It runs no user code: each job has a task process of its own. It registers with the master for
/// as long as it lives, runs its jobs only as long as its lease, and leaves neither process nor
/// file behind: not after a job, not after Stop, and after a crash its successor of the same name
/// clears up. After a lost lease it keeps the runs of its jobs, as its successor does after a
/// crash, and tells the master of them that it registers with. Thread-safety: all calls on the
/// loop. Ownership: Stop and await its answer before destruction;
///   otherwise task processes are killed and files stay.
/// Checked by: tests/unit/worker/worker_daemon_test.cc, worker_daemon_transfers_test.cc; tests/sim
///   runs it with the master under faults.
class WorkerDaemon {
 public:
  WorkerDaemon(WorkerOptions options, WorkerSeams seams);
  ~WorkerDaemon();
  WorkerDaemon(const WorkerDaemon&) = delete;
  WorkerDaemon& operator=(const WorkerDaemon&) = delete;

  /// Claims the work directory, clears up after dead daemons of this name but for runs that are
  /// whole, answers, and then registers with the master for as long as it takes.
  /// Errors: as WorkDirectory::Claim; kInvalidArgument (options).
  void Start(absl::AnyInvocable<void(absl::Status)> started);
  /// Tells the master that nothing new is to be planned for this worker, refuses new jobs, and
  /// calls `drained` when the last one is released or `at_most` has passed.
  void Drain(absl::Duration at_most, env::Task drained);
  /// Releases all jobs, removes the work directory and calls `stopped`. Nothing is served
  /// afterwards. Call once, after Start has answered.
  void Stop(env::Task stopped);

  /// True while the master counts on this worker.
  bool registered() const { return keeper_.registration().has_value(); }
  /// True once no master has answered for WorkerOptions::master_grace: nobody will need this
  /// worker.
  bool gave_up() const { return gave_up_; }
  /// The daemon's own directory; empty before Start has answered.
  const std::string& directory() const;

  /// What the master may order.
  const rpc::WorkerApi& api() const { return api_; }

  // Handlers of api(), worker_daemon_calls.cc.
  void Handle(rpc::Call<rpc::PrepareJob> call);
  void Handle(rpc::Call<rpc::StartStep> call);
  void Handle(rpc::Call<rpc::GrantTransfer> call);
  void Handle(rpc::Call<rpc::CancelTransfer> call);
  void Handle(rpc::Call<rpc::SetRates> call);
  void Handle(rpc::Call<rpc::ReleaseJob> call);
  void Handle(rpc::Call<rpc::Identify> call);
  void Handle(rpc::Call<rpc::Probe> call);

 private:
  enum class State { kNew, kStarting, kServing, kDraining, kStopping, kStopped };

  // Lease (worker_daemon.cc).
  void Turn();
  void RegisterIfFit();
  void SendRegister();
  void SendHeartbeat();
  void ReleaseJobs(const v1::HeartbeatResponse& answer);
  // Requires: registered.
  v1::HeartbeatRequest HeartbeatNow(const std::string& leaving) const;
  void ReleaseAll();
  // Ends all jobs, and keeps the runs of those that a later master may go on with.
  void HoldAll();
  void OnJobHeld(const std::string& job_id, const absl::StatusOr<std::string>& tail);
  // Removes what was kept of a job.
  void DropHeld(const std::string& job_id);
  // What the master is told of runs that are kept, by job. Those that do not fit are not kept any
  // more: a master that does not know of them has them made again, maybe here and by the same name.
  absl::btree_map<std::string, v1::HeldJob> HeldToTell();
  // Answers a registration that is due while this worker cannot serve.
  void StayAway();
  void SendLeave();
  // Looks whether the directory is there, makes a new one if not, and calls `looked`, if given,
  // after a look that began later than this call.
  void LookAtDirectory(env::Task looked);
  struct DirectoryLook;
  void OnDirectoryLook(DirectoryLook look);
  // Leaves the cluster when the look that is under way takes so long that the directory must hang.
  void LeaveIfItHangs();
  void LoseJobFiles();
  // Jobs (worker_daemon_calls.cc).
  std::shared_ptr<WorkerJob> MakeJob(v1::PrepareJobRequest request,
                                     std::optional<v1::HeldJob> earlier);
  // Prepares a job that is here already, once nothing of its old plan is left.
  void BeginAnew(const std::string& job_id, v1::PrepareJobRequest request);
  void EndOldPlan(const std::string& job_id);
  void OnOldPlanGone(const std::string& job_id, const absl::Status& gone);
  void PrepareSoon(const std::string& job_id, WorkerJob::Prepared prepared);
  void Release(const std::string& job_id, WorkerJob::Released released);
  void OnJobGone();
  void RemoveDirectory();

  template <typename F>
  auto WhileAlive(F f) {
    return [weak = std::weak_ptr<int>(alive_), f = std::move(f)](auto&&... args) mutable {
      if (!weak.expired()) f(std::forward<decltype(args)>(args)...);
    };
  }

  const rpc::WorkerApi api_ = rpc::ApiOf<rpc::WorkerService>(*this);
  const WorkerOptions options_;
  const WorkerSeams seams_;
  const std::string incarnation_;
  State state_ = State::kNew;
  LeaseKeeper keeper_;
  JobTable table_;
  std::optional<WorkDirectory> directory_;
  // Of the daemon's directory. Files that a new directory lacks are found missing by the next job.
  ArtifactCache artifacts_{{limits::kArtifactCacheBytesMax, limits::kArtifactAgeMax}};
  absl::btree_map<std::string, std::shared_ptr<WorkerJob>> jobs_;
  // A job whose old plan is being cleared away, and what it is prepared for then.
  struct NextPlan {
    v1::PrepareJobRequest request;
    std::vector<WorkerJob::Prepared> prepared;
    bool clearing = false;
  };
  absl::btree_map<std::string, NextPlan> next_plans_;
  // Jobs of which nothing is left but runs, until a master goes on with them or knows them no more.
  // Those without runs have files that are still to be removed.
  absl::btree_map<std::string, v1::HeldJob> held_;
  int dropping_ = 0;          // of those, being removed
  absl::Status not_dropped_;  // what the log says of that
  Prober prober_;
  std::optional<env::EventLoop::TimerId> turn_timer_;
  std::optional<env::EventLoop::TimerId> drain_timer_;
  env::Task drained_;
  env::Task stopped_;
  std::string register_failure_;
  bool gave_up_ = false;
  std::int64_t free_disk_bytes_ = 0;
  bool looking_ = false;
  // When the look that is under way began, in ns; 0: it waits behind what may take long and yet not
  // hang.
  std::shared_ptr<std::atomic<std::int64_t>> look_began_ =
      std::make_shared<std::atomic<std::int64_t>>(0);
  bool hangs_ = false;  // and is why this worker leaves
  std::vector<env::Task> after_look_;
  // Why this worker cannot serve, and leaves; empty: it can.
  std::string leaving_;
  bool leave_under_way_ = false;
  // Loop-confined callbacks ask it whether this daemon still exists.
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace weir::worker
