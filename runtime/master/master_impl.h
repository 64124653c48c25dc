#pragma once

// Inside of Master: what it holds, and the handlers by caller. Included by master*.cc only.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/types/span.h"
#include "runtime/env/callback_scope.h"
#include "runtime/env/pool_turn.h"
#include "runtime/master/artifacts/artifact_depot.h"
#include "runtime/master/calibrate/calibration_run.h"
#include "runtime/master/conduct/conductor_run.h"
#include "runtime/master/groups/groups.h"
#include "runtime/master/input/input_lister.h"
#include "runtime/master/job/job_history.h"
#include "runtime/master/job/job_queue.h"
#include "runtime/master/job/job_registry.h"
#include "runtime/master/job/job_run.h"
#include "runtime/master/job/watch_hub.h"
#include "runtime/master/journal/journal_writer.h"
#include "runtime/master/master.h"
#include "runtime/master/planning/planning.h"
#include "runtime/master/share/port_arbiter.h"
#include "runtime/master/workers/process_watch.h"
#include "runtime/master/workers/return_times.h"
#include "runtime/master/workers/worker_table.h"
#include "runtime/rpc/serve.h"

namespace weir::master {

class Master::Impl {
 public:
  Impl(const MasterSeams& seams, MasterOptions options);

  // master.cc: life
  void Start(absl::AnyInvocable<void(absl::Status)> on_ready);
  void Shutdown(absl::AnyInvocable<void()> on_stopped);
  const rpc::JobApi& jobs() const { return jobs_; }
  const rpc::ClusterApi& cluster() const { return cluster_; }

  /// OK while calls are served, else why not. Workers are heard until the last job is released.
  absl::Status Admit(rpc::JobService) const;
  absl::Status Admit(rpc::ClusterService) const;

  // master_jobs.cc: users
  void Handle(rpc::Call<rpc::Submit> call);
  std::unique_ptr<rpc::Subscription> Handle(rpc::Call<rpc::Watch> call);
  void Handle(rpc::Call<rpc::GetStatus> call);
  void Handle(rpc::Call<rpc::ListJobs> call);
  void Handle(rpc::Call<rpc::Cancel> call);
  void Handle(rpc::Call<rpc::GetPlan> call);
  void Handle(rpc::Call<rpc::DryRun> call);
  std::unique_ptr<rpc::Subscription> Handle(rpc::Call<rpc::GetPlanPieces> call);
  std::unique_ptr<rpc::Subscription> Handle(rpc::Call<rpc::DryRunPieces> call);
  void Handle(rpc::Call<rpc::GetLogs> call);
  void Handle(rpc::Call<rpc::PutArtifact> call) { artifacts_.Put(std::move(call)); }

  // master_calibrate.cc: users
  void Handle(rpc::Call<rpc::ListWorkers> call);
  void Handle(rpc::Call<rpc::Calibrate> call);

  // master_groups.cc: members of groups
  void Handle(rpc::Call<rpc::JoinGroup> call);

  // master_workers.cc: workers
  void Handle(rpc::Call<rpc::Register> call);
  void Handle(rpc::Call<rpc::Heartbeat> call);
  void Handle(rpc::Call<rpc::ReportStep> call);
  void Handle(rpc::Call<rpc::ReportTransfer> call);
  void Handle(rpc::Call<rpc::FetchArtifact> call) { artifacts_.Fetch(std::move(call)); }
  void Malformed(rpc::ReportStep, const v1::ReportStepRequest& report, const absl::Status& why);
  void Malformed(rpc::ReportTransfer, const v1::ReportTransferRequest& report,
                 const absl::Status& why);

 private:
  // master_settle.cc
  /// What an earlier master had in hand that writes to one output.
  struct UnsettledOutput {
    std::vector<JobHistory::Unsettled> jobs;  // oldest first
    std::shared_ptr<env::PoolTurn> turn;
    std::optional<env::EventLoop::TimerId> timer;
  };
  /// A start, until what answers is settled.
  struct Recovering {
    JobHistory history;
    absl::AnyInvocable<void(absl::Status)> on_ready;
  };
  /// Goes on to Recovered once every output is settled, or limits::kSettleWait is over.
  void Settle(JobHistory history, absl::AnyInvocable<void(absl::Status)> on_ready);
  void SettleOutput(const std::string& output, UnsettledOutput& unsettled);
  void AwaitOutput(const std::string& output, UnsettledOutput& unsettled);
  void GiveUpOutput(const std::string& output);
  // By value: the name given is often part of what ends here.
  void Settled(std::string output, std::vector<PublishedParts> published);
  void SayUnsettled() const;
  /// What was settled behind the start goes on, or ends.
  void TakeSettledLate();
  /// Whether its output has yet to be settled.
  bool IsUnsettled(const v1::JobSpec& spec) const;
  /// Requires: IsUnsettled.
  absl::Status OutputUnsettled(const v1::JobSpec& spec) const;
  const JobHistory::Unsettled* FindUnsettled(const std::string& job_id) const;

  // master_queue.cc
  void Enqueue(const v1::JobStatus& job, bool resumed);
  void BeginJobs();
  /// Whether no job may begin at present, however long the queue is.
  bool QueueHeld() const;
  WorkerRoom Room() const;
  // By value: the name given is often part of the run that ends here.
  void JobFinished(std::string job_id);
  /// Says to users which place a job has in the queue.
  v1::JobStatus WithPlace(const v1::JobStatus& status) const;
  /// "job j-1", "a calibration" or "a dry run that samples": what a measurement would disturb, or
  /// be disturbed by; empty: nothing.
  std::string Busy() const;
  /// The same of all but this job.
  std::string BusyBeside(const std::string& job_id) const;
  std::string Busy(const std::vector<std::string>& jobs) const;

  enum class Life { kNew, kStarting, kServing, kStopping };

  absl::Status Serving() const;
  void ReadHistory(absl::AnyInvocable<void(absl::Status)> on_ready);
  void Recovered();
  void ServeFrom(std::int64_t master_epoch);
  void QueueAgain(std::vector<JobHistory::Waiting> waiting);
  void Accept(const std::string& key, v1::JobSpec spec, InputList input);
  void Accepted(v1::JobStatus status, std::shared_ptr<const v1::Plan> given_plan, InputList input);
  absl::Status Cancel(const v1::CancelRequest& request);
  void FindPlan(const std::string& job_id, rpc::Reply<v1::GetPlanResponse> reply);
  void MakePlan(v1::DryRunRequest request, rpc::Reply<v1::GetPlanResponse> reply);
  /// Calls ask_for(request, reply) of a master that serves, and tells the plan piece by piece.
  template <typename Method, typename AskFor>
  std::unique_ptr<rpc::Subscription> TellInPieces(rpc::Call<Method> call, AskFor ask_for);
  void BeginDryRun(v1::JobSpec spec, InputList input, const std::vector<RegisteredWorker>& alive,
                   rpc::Reply<v1::GetPlanResponse> reply);
  void ExplainGiven(std::shared_ptr<const v1::JobSpec> spec,
                    absl::Span<const RegisteredWorker> alive,
                    rpc::Reply<v1::GetPlanResponse> reply);
  /// Lists jobs from now on; those that are too old, or too many, go for them, here and in the
  /// journal.
  void Remember(absl::Span<const v1::JobStatus> jobs);
  /// Tells who waits for a submit to be written down that this may take long.
  void JournalStalls();
  void AnswerSubmit(const std::string& key, const absl::StatusOr<std::string>& job_id);
  std::string NewJobId();
  /// Whether no worker is alive, nor on its way back from the master before.
  bool NobodyWillCome() const;
  JobRun* FindRun(const std::string& job_id);
  /// What runs the plan of that job; null: none does.
  ConductorRun* FindConductor(const std::string& job_id);
  /// The sample of that id while a worker may hold it, of a job or of a dry run; null: none.
  SampleRun* FindSample(const std::string& sample_id);
  void EndDryRun(const std::string& id);
  /// Gives those that come back together the time to do so, lest the first gets a job alone.
  void AwaitWorkers();
  /// Registers the worker once it has answered where it says it listens.
  void CallBack(rpc::Call<rpc::Register> call);
  /// `ask_holder`: of the name, before a newcomer is refused for it.
  void Register(rpc::Call<rpc::Register> call, bool ask_holder);
  void ScheduleWatch();
  /// Finds whether the master stood still, by how late the watch for workers is; all that count
  /// time hear of it. Call before anything is decided by a time.
  void NoteStandstill();
  void AskAfterSilent();
  /// Its connection broke.
  void AskAfterCutOff(WorkerId worker, Epoch epoch);
  /// `asked`, if given, comes once it is known whether the worker is gone; if so, it is lost then.
  void AskAfter(const SilentWorker& silent, const std::string& endpoint, env::Task asked);
  void Lose(const RegisteredWorker& worker, const std::string& why, Loss loss);
  /// Everything that uses the worker under this epoch hears that it is gone.
  void TellLoss(WorkerId worker, Epoch epoch, const std::string& why, Loss loss);
  void BeginDrain(WorkerId worker, Epoch epoch);
  absl::StatusOr<v1::HeartbeatResponse> TakeLeave(const v1::HeartbeatRequest& request);
  void StopIfIdle();
  void Stopped();
  /// OK when a report is of this master's time and its sender holds its lease.
  absl::Status CheckSender(const v1::Fence& fence, WorkerId worker) const;
  void AnswerJoins(std::vector<Groups::Answer> answers);
  void ScheduleGroupWatch();
  template <typename Report>
  absl::Status TakeReport(const Report& report);
  void TakeNonsense(const v1::Fence& fence, WorkerId worker, const absl::Status& why);
  absl::Status StartCalibration(const v1::CalibrateRequest& request);
  absl::StatusOr<v1::CalibrateResponse> AnswerCalibration(const v1::CalibrateRequest& request);
  bool CalibrationRuns() const { return calibration_ && !calibration_->over(); }
  void CalibrationEnded();
  void TakeRecovered(const v1::MeasuredNetwork& measured);

  const rpc::JobApi jobs_ = rpc::ApiOf<rpc::JobService>(*this);
  const rpc::ClusterApi cluster_ = rpc::ApiOf<rpc::ClusterService>(*this);
  const MasterSeams seams_;
  MasterOptions options_;  // only what was measured ever changes
  JournalWriter journal_;
  InputLister lister_;
  WatchHub watch_hub_;
  JobRegistry store_;
  ArtifactDepot artifacts_;
  Life life_ = Life::kNew;
  std::unique_ptr<WorkerTable> workers_;
  ProcessWatch processes_;
  std::unique_ptr<JobRunContext> context_;
  PortArbiter ports_;  // of the runs below
  ReturnTimes return_times_;
  absl::btree_map<std::string, std::string> unreached_;  // worker that was called back in vain: why
  absl::btree_map<std::string, std::unique_ptr<JobRun>> runs_;  // not terminal yet
  /// Dry runs until their plan is made and their sample released, by an id of their own.
  absl::btree_map<std::string, std::unique_ptr<Planning>> dry_runs_;
  /// Those of them whose sample measures.
  absl::btree_set<std::string> sampling_dry_runs_;
  /// Each call that asks for a dry run holds a copy until it is answered.
  const std::shared_ptr<const bool> dry_run_place_ = std::make_shared<const bool>(true);
  ShapeHistory history_;
  JobQueue queue_;
  std::optional<Recovering> recovering_;
  std::optional<env::EventLoop::TimerId> settle_timer_;
  absl::btree_map<std::string, UnsettledOutput> unsettled_;  // by output
  std::vector<SettledJob> settled_;     // and neither in the history nor in the journal yet
  std::vector<std::string> held_back_;  // accepted jobs that write to one of unsettled_
  /// A master that follows another one takes jobs for the workers of that one, which notice within
  /// their lease that they have to register again.
  MonoTime workers_return_until_;
  /// Workers come back until then, after a time without any.
  MonoTime queue_held_until_;
  /// Submits on their way, by idempotency key: repeated ones share the answer.
  absl::btree_map<std::string, std::vector<rpc::Reply<v1::SubmitResponse>>> submits_;
  /// Keys of those that are on their way to the journal.
  absl::btree_set<std::string> submits_written_;
  std::int64_t unnamed_submits_ = 0;
  // Ids of jobs that were handed out in this second of the clock.
  std::string second_of_ids_;
  absl::btree_set<std::string> ids_of_second_;
  /// The present calibration or the last one, whose result may still be asked for.
  std::unique_ptr<CalibrationRun> calibration_;
  bool watch_scheduled_ = false;
  MonoTime watch_due_;  // then; what it is late was told up to here
  Groups groups_;
  /// Members that wait for the others of their group, by member_key: all copies of their call.
  absl::btree_map<std::string, std::vector<rpc::Reply<v1::JoinGroupResponse>>> joins_;
  bool group_watch_scheduled_ = false;
  bool stop_recording_ = false;  // MasterStopped is on its way to the journal
  bool stop_recorded_ = false;   // or was there, or could not be written
  std::vector<absl::AnyInvocable<void()>> on_stopped_;
  env::CallbackScope callbacks_;
};

}  // namespace weir::master
