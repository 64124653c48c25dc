#pragma once

// One job on one worker, from PrepareJob to ReleaseJob: its directory, its task process, its steps,
// its transfers. Upstream: WorkerDaemon, after JobTable let a call pass. Downstream: JobTask, the
// data plane, reports to the master.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/worker/artifact_supply.h"
#include "runtime/worker/held_runs.h"
#include "runtime/worker/job_paths.h"
#include "runtime/worker/report_sender.h"
#include "runtime/worker/run_files.h"
#include "runtime/worker/task_launcher.h"
#include "runtime/worker/transfer_queue.h"
#include "runtime/worker/worker_options.h"
#include "runtime/worker/worker_seams.h"
#include "weir/v1/services.pb.h"

namespace weir::worker {

/// Carries out the orders for one job.
///
/// Requires: calls were admitted by JobTable (present epochs, each attempt once); ids were checked.
/// Thread-safety: on the loop only. Ownership: by shared_ptr; what is on its way holds it weakly.
/// Failure semantics: a task process that ends fails the step that it runs, or the next one; the
/// one
///   behind that begins with another process, and runs that are published stay so. A job that was
///   not prepared, or lost its files, fails each step with the same error.
///   Nothing of the job - process, file, published run, fetch - is left when Release has answered
///   OK.
class WorkerJob : public std::enable_shared_from_this<WorkerJob> {
 public:
  using Prepared = absl::AnyInvocable<void(absl::Status)>;
  using Cancelled = absl::AnyInvocable<void(absl::Status)>;
  /// The last output of the task, once all is gone; else why the directory could not be removed.
  using Released = absl::AnyInvocable<void(absl::StatusOr<std::string>)>;

  /// `earlier`: runs that lie in the job's directory since Hold. They stay if the request asks for
  /// them; all else that lies there goes.
  WorkerJob(const WorkerOptions& options, const WorkerSeams& seams, ArtifactCache& artifacts,
            std::int64_t worker_id, std::string worker_directory, v1::PrepareJobRequest request,
            std::optional<v1::HeldJob> earlier);
  WorkerJob(const WorkerJob&) = delete;
  WorkerJob& operator=(const WorkerJob&) = delete;

  /// Makes the directories, brings the job's artifacts there and starts the task process. A
  /// repeated call is answered with the first.
  void Prepare(Prepared prepared);
  /// Takes over the fence and token of a new plan. Requires: nothing was ordered under the old one.
  void Renew(v1::PrepareJobRequest request);
  /// Whether what it began with is what this plan begins with too.
  bool BeginsAs(const v1::PrepareJobRequest& request) const;
  /// Accepts a step; its result goes to the master as a report.
  /// Errors: kInvalidArgument (order), kFailedPrecondition (not ready, or busy), kInternal with a
  ///   JobError (the task process is gone), kUnavailable (it was killed, and is not gone yet).
  absl::Status StartStep(const v1::StartStepRequest& request);
  /// Accepts a grant; its result goes to the master as a report.
  /// Errors: kInvalidArgument (order), kResourceExhausted.
  absl::Status GrantTransfer(v1::GrantTransferRequest request);
  /// Breaks off this attempt of a transfer, wherever it is; `cancelled` comes once nothing of it
  /// moves. It is not reported on any more; kAlreadyExists: it has arrived, and that is reported.
  void CancelTransfer(int transfer, int attempt, Cancelled cancelled);
  /// Fails the job: its directory was removed, with all that lay in it.
  void OnFilesLost();
  /// Ends everything. May be called again, for example after a failure.
  void Release(Released released);
  /// The same, but that the runs stay in the job's directory: a later master may go on with them.
  /// A Release that comes before it is done removes them too. Requires: can_hold().
  void Hold(Released held);
  bool can_hold() const {
    return (state_ == State::kReady || state_ == State::kFailed) && !held_.empty();
  }
  /// What Hold keeps; without runs where there was no Hold, or a Release since.
  v1::HeldJob Held() const;
  /// Of these, the master is told of those in `told` alone; whoever goes on with them removes the
  /// others. Requires: Held() has runs, and so has `told`.
  void HoldOnly(const v1::HeldJob& told) { held_.LeaveOnly(told); }

  /// Its preparation failed or its files went: nothing can be ordered here.
  bool failed() const { return state_ == State::kFailed; }
  std::optional<JobTask::Progress> progress() const { return task_->progress(); }

 private:
  enum class State { kNew, kPreparing, kReady, kFailed, kReleasing };

  // Preparation (worker_job.cc).
  // Whether it goes on with runs of another plan.
  bool takes_over() const;
  // Samples have no output: nothing of them moves, or is of use later.
  static bool IsSample(const v1::PrepareJobRequest& request) {
    return request.staging_dir().empty();
  }
  // Whether word of its runs is left for the daemon's next life.
  bool leaves_word() const { return options_.runs_outlive && !IsSample(request_); }
  // Makes those that the job has a use for; `runs_there`: the directories of the runs are.
  // Blocking.
  static absl::Status MakeDirectories(env::Storage& storage, const JobPaths& paths,
                                      const v1::PrepareJobRequest& request, bool runs_there);
  void SupplyArtifacts();
  void StartTask();
  void OpenForPeers();
  void EndPreparation(absl::Status status);
  void OnTaskReady();
  void OnTaskFailed(v1::JobError error);
  std::unique_ptr<JobTask> MakeTask();
  // Has another process take the place of the one that ended.
  absl::Status RestartTask();
  // Why none can: its memory and its directory are in use as long as it lives.
  absl::Status TaskLingers() const;
  // What all task processes of the job printed last.
  std::string OutputTail() const;
  // Steps (worker_job_steps.cc).
  v1::TaskCommand::Start TaskStart() const;
  // Whether runs may refer to the input instead of holding records of it.
  bool RefersToInput(const v1::TaskCommand::Start& start) const;
  // Remembers the files that the step makes and reads.
  void KeepRunFiles(const v1::TaskCommand::Run& run);
  // Removes the runs that the master says nobody reads any more.
  void RemoveUnreadRuns(const v1::StepOrder& order);
  void RemoveFiles(std::vector<std::string> paths);
  // Removes what this attempt had on disk because its task's memory did not hold it.
  void RemoveSpills(int step, int attempt);
  // Leaves word of these runs for the daemon's next life, if it may have a use for them; `written`
  // comes then, also where that failed.
  void WriteDown(
      v1::HeldJob held, absl::AnyInvocable<void()> written = [] {});
  void OnSpecWritten(const absl::Status& status);
  // Hands the step to the task once both are ready.
  void RunStepWhenReady();
  void OnStepResult(v1::StepResult result);
  void FailStep(v1::JobError error);
  // Passes `error` on, or the loss of this job's files if that is the reason for it.
  void FindCause(v1::JobError error, absl::AnyInvocable<void(v1::JobError)> found);
  v1::JobError FilesLost() const;
  void ReportStep(v1::StepResult result);
  void DeliverReport(const std::string& step, v1::ReportStepRequest request);
  // Transfers (worker_job_transfers.cc).
  void StartReadyTransfers();
  void HandOver(const v1::GrantTransferRequest& grant);
  void Fetch(const v1::GrantTransferRequest& grant);
  void OnNearlyDone(const v1::GrantTransferRequest& grant, std::int64_t bytes_left);
  void OnTransferEnd(const v1::GrantTransferRequest& grant, const absl::Status& status,
                     double run_s);
  void ReportTransferEnd(const v1::GrantTransferRequest& grant, const absl::Status& status,
                         double run_s);
  v1::JobError TransferError(const v1::TransferGrant& order, const absl::Status& status) const;
  void ReportTransfer(const v1::Fence& fence, v1::TransferReport report);
  // Release (worker_job.cc).
  void EndAll();
  void RemoveWhenIdle();
  void EndRelease(const absl::Status& status);

  // Names an error of this worker's own files and processes.
  v1::JobError OwnError(const absl::Status& status) const;
  // Adds who and where, unless they are known already.
  v1::JobError Named(v1::JobError error, const std::string& step) const;
  // Runs `work` on the disk pool and then `then` here. Release waits for it.
  void OnDiskPool(absl::AnyInvocable<absl::Status()> work,
                  absl::AnyInvocable<void(absl::Status)> then);
  // Makes a callback that does nothing once this job is gone.
  template <typename F>
  auto WhileAlive(F f) {
    return [weak = weak_from_this(), f = std::move(f)](auto&&... args) mutable {
      if (auto alive = weak.lock()) f(std::forward<decltype(args)>(args)...);
    };
  }

  const WorkerOptions& options_;
  const WorkerSeams& seams_;
  const std::int64_t worker_id_;
  v1::PrepareJobRequest request_;
  const JobPaths paths_;
  State state_ = State::kNew;
  std::vector<Prepared> preparing_;
  std::optional<v1::JobError> failure_;
  // The step under way, from its acceptance to its report.
  struct ActiveStep {
    v1::TaskCommand::Run run;
    MonoTime started;
    bool spec_written = false;
    bool failed = false;
  };
  std::optional<ActiveStep> step_;
  RunFiles files_;
  HeldRuns held_;
  // Of its directory: something of an earlier life lies there.
  const bool used_before_;
  bool holding_ = false;
  TransferQueue transfers_;
  // Transfer and attempt of what moves, and who waits for its being cancelled.
  std::map<std::pair<int, int>, std::vector<Cancelled>> moving_;
  std::set<std::pair<int, int>> arrived_;  // by transfer and attempt too
  int disk_work_running_ = 0;
  bool supplying_ = false;
  enum class Task { kStarting, kReady, kEnded };
  Task task_state_ = Task::kStarting;
  MonoTime task_failed_;                        // when it was said that it has ended, or does not
  std::optional<v1::JobError> untold_;          // why the task ended, while it ran no step
  std::optional<std::pair<int, int>> refused_;  // step and attempt that were told of it
  bool task_stopped_ = false;
  bool removing_ = false;
  absl::Status not_removed_;  // what the log says of that
  std::vector<Released> releasing_;
  ReportSender reports_;
  const std::shared_ptr<ArtifactSupply> supply_;
  std::string earlier_output_;  // of task processes that ended
  std::unique_ptr<JobTask> task_;
};

}  // namespace weir::worker
