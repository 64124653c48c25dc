#pragma once

// One job from its acceptance to its end: the effects around JobMachine. Upstream: Master.
// Downstream: JournalWriter, planning, staged output, ConductorRun, calls to workers.

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/functional/any_invocable.h"
#include "runtime/env/callback_scope.h"
#include "runtime/env/pool_turn.h"
#include "runtime/master/conduct/conductor_run.h"
#include "runtime/master/input/input_lister.h"
#include "runtime/master/job/job_machine.h"
#include "runtime/master/job/run_blame.h"
#include "runtime/master/job/step_blame.h"
#include "runtime/master/journal/journal_writer.h"
#include "runtime/master/learning/shape_history.h"
#include "runtime/master/newcomers/newcomers.h"
#include "runtime/master/newcomers/return_pauses.h"
#include "runtime/master/options/master_options.h"
#include "runtime/master/options/master_seams.h"
#include "runtime/master/output/staged_output.h"
#include "runtime/master/planning/planned_job.h"
#include "runtime/master/planning/planning.h"
#include "runtime/master/resume/resumed_run.h"
#include "runtime/master/workers/job_reservation.h"
#include "runtime/master/workers/return_times.h"

namespace weir::master {

/// Whether a daemon that was lost may come back at once with its runs: it ended, and its machine
/// is up.
enum class Loss { kForGood, kMayBeBack };

/// What all jobs of one master share.
struct JobRunContext {
  const MasterSeams& seams;
  const MasterOptions& options;
  JournalWriter& journal;
  InputLister& lister;
  Epoch master_epoch = 0;
  const ShapeHistory& history;
  PortArbiter& ports;
  const ReturnTimes& return_times;
  /// Takes what a finished job taught; it is in the journal already.
  std::function<void(const v1::JobShapeLearned&)> learn;
  /// What else runs now; and whether nothing else did at any time while this job ran.
  std::function<std::vector<std::string>(const std::string& job_id)> jobs_beside;
  /// What a sample of the job would disturb, or be disturbed by, as "job j-1"; empty: nothing.
  std::function<std::string(const std::string& job_id)> busy_beside;
  std::function<bool(const std::string& job_id)> ran_alone;
  /// Alive workers in id order.
  std::function<std::vector<RegisteredWorker>()> alive_workers;
  /// Called with each change, journalled before; returns its number.
  std::function<std::int64_t(const v1::JobStatus&)> publish;
  /// Called once, in a turn of its own, when the job is terminal; may destroy the run.
  std::function<void(std::string job_id)> finished;
};

/// Carries out one job.
///
/// Thread-safety: on the loop only. Failure semantics: from the first failure on, workers have
///   kReleaseBudget to clean up and the file system kDiscardBudget; then the job is terminal all
///   the same, and a worker that comes back is told to release it by the answer to its heartbeat.
/// Checked by: tests/unit/master/master_test.cc, tests/sim.
class JobRun {
 public:
  /// `given_plan`: run exactly this one; null: make one. `input`: as it was listed a moment ago;
  /// none: it is listed when the job begins. `resumed`: an earlier master had begun it; `earlier`:
  /// what ran of it then, to go on with; null: nothing.
  JobRun(const JobRunContext& context, v1::JobStatus accepted,
         std::shared_ptr<const v1::Plan> given_plan, std::optional<InputList> input,
         bool resumed = false, std::shared_ptr<const JournalledRun> earlier = nullptr);
  ~JobRun();

  /// Leaves the queue. `memory_share`: part of each worker's limit that its tasks may use.
  void Begin(double memory_share);
  /// Errors: kFailedPrecondition when the job is beyond being ended.
  absl::Status Cancel(const std::string& reason);
  /// Ends the job with this error unless it is past that.
  void Fail(v1::JobError error);
  /// The job goes on without this worker: if it needs it, under another plan. One that may be back
  /// is waited for before, as long as its runs are worth it.
  void WorkerLost(WorkerId worker, Epoch epoch, const std::string& why, Loss loss);
  /// The worker ends what it has in hand and takes nothing new; what it has not begun goes to
  /// others where the plan can be edited.
  void WorkerDrains(WorkerId worker, Epoch epoch);
  /// For `stood` before `now` the master stood still, and its pools with it: that time is nobody's
  /// silence, and no file system's.
  void StoodStill(absl::Duration stood, MonoTime now);
  /// A worker has registered; a job that waits for workers plans anew.
  void WorkerJoined();

  bool queued() const { return machine_.state() == v1::JOB_STATE_QUEUED; }
  /// A later master can take it up again from what the journal says: its output is not being
  /// published, and it is not being ended.
  bool resumable() const { return machine_.can_end(); }
  /// What runs the plan, to which reports of workers go; null: the plan does not run yet.
  ConductorRun* conductor() const { return plan_run_.get(); }
  /// The small job that samples for this one; null: none is held by workers.
  SampleRun* sample() const { return planning_.sample(); }
  const PlannedJob* planned() const { return planned_.get(); }
  v1::ActualRun Actual() const;

 private:
  void Apply(std::vector<JobAction> actions);
  void Pump();
  void CarryOut(JobAction action);
  void JournalState();
  void JournalPlan();
  void WaitForJournal(v1::JournalRecord record, JournalWriter::Done done);
  JournalWriter::Done OnceJournalled(JournalWriter::Done done);
  void JournalFailed(const absl::Status& status);
  void ListInput();
  void TakeInput();
  void Sample();
  void MakePlan();
  /// MakePlan, unless a plan is being made or this is asked for again next: the pool, which serves
  /// all jobs, has one plan of each to make.
  void PlanOnce();
  /// The plan that was being made is there. False: workers were lost meanwhile, so that another one
  /// is made, if the job does not end.
  bool PlanIsOfNow();
  // Blame (job_run_blame.cc).
  /// Has the job planned again where a worker is to blame, and ends it where it is the job itself.
  void PlanFailed(v1::JobError error);
  /// The same of a plan that runs and is held: it is edited where that is enough.
  void RunFailed(RunFault fault);
  /// The same of an output that could not be published: the plan is over, so another one is made.
  void CommitFailed(v1::JobError error);
  /// Whether the plan that runs goes on without a worker of that name.
  bool IsGone(const std::string& name) const;
  /// Whether the plan has anybody beside this worker who is prepared and not gone.
  bool AnyBeside(planner::WorkerIndex worker) const;
  StepMoves MovesOf(const RunFault& fault) const;
  /// Mends a damaged run by an edit; false: its maker is to blame.
  bool MendRun(const RunFault& fault);
  /// A step is done: says in the losses of those whose code had failed of it whose fault that was.
  void BlameTheRefuted(const v1::JournalRecord::StepCommitted& done);
  /// Ends the job naming what the step was given.
  void EndBy(v1::JobError error, const StepInput& input);
  void LetGoOfFull(const BlameVerdict& verdict);
  /// Goes on without the workers that are left out, and has the step begun anew; false: that is not
  /// all that has to change.
  bool GoOnWithout(const BlameVerdict& verdict, planner::StepIndex failed);
  /// Who is alive, what they have on their disks, and what the last plan wants of them.
  std::vector<DiskRoom> RoomOfWorkers() const;
  /// What the step of this name was given, by the last plan.
  StepInput InputOfStep(const std::string& step_name) const;
  /// Says in the error which files that were.
  void NameInput(const StepInput& input, v1::JobError& error) const;
  // Losses (job_run_losses.cc).
  /// Writes down that `worker` did not do its part, and asks for another plan.
  void TakeLoss(const std::string& worker, const std::string& why, const std::string& step);
  void AddLoss(const std::string& worker, const std::string& why, const std::string& step);
  /// Whether the plan in hand does not know of a loss yet; with a name: of one of this worker.
  bool LossPending(const std::string& worker = "") const;
  // Workers that are about to leave (job_run_drain.cc).
  /// Workers of the plan that are there and take nothing new.
  std::vector<planner::WorkerIndex> DrainingWorkers() const;
  void EditForThoseWhoLeave();
  /// How long what they have begun to receive may stay with them, at most.
  planner::Seconds StayOf(const std::vector<planner::WorkerIndex>& draining) const;
  /// Lets those go that nobody needs.
  void ReleaseDrained();
  // Edits (job_run_edits.cc).
  /// PlanChange::whole_steps, of this job.
  bool HasWholeSteps() const;
  /// Edits the plan that runs, so that what is done stays done; where it cannot be edited, the job
  /// is planned again. An edit that is being made is dropped, and the next one begins when it is
  /// there: however many workers are lost meanwhile, one edit is for all of them.
  void EditPlan(std::optional<StragglerDecision> stragglers = std::nullopt);
  /// Whether the plan that runs is of a kind that can be edited.
  bool CanEdit() const;
  const std::string& NameOf(planner::WorkerIndex worker) const {
    return workers_[planner::At(worker)].identity.name();
  }
  /// Looks again and again, as long as this plan runs.
  void LookForStragglers();
  /// Workers of the plan that were lost and have registered again: prepares them, then edits.
  void TakeBackWorkers();
  /// How long one that is back is left alone, as it was lost too often; zero where nobody else of
  /// the plan is there.
  absl::Duration PauseBefore(planner::WorkerIndex worker) const;
  /// Has all that join prepare, those that are back and those that are new.
  void PrepareJoining();
  /// One that joins cannot be prepared: the job does without as long as it keeps its registration.
  void DoWithout(const std::string& name);
  /// Those that were to be prepared with one that is not wait for it no longer.
  void PrepareOthersSoon();
  void UseJoined();
  /// How far the plan is, as an edit is to know it: nothing can be ordered where the job was not
  /// prepared.
  planner::PlanState WithUnprepared(planner::PlanState state) const;
  // Workers that the plan does not name (job_run_edits.cc).
  /// Asks the planner whether they would get anything, and prepares them if so.
  void LookForNewcomers();
  std::vector<RegisteredWorker> NotOfThePlan() const;
  /// How many more the plan may name.
  std::size_t RoomForNames() const;
  /// Leaves out of `asked` those whose place in the network is not known.
  absl::StatusOr<planner::PlanChange::Added> Describe(std::vector<RegisteredWorker> asked);
  void NewcomersAnswered(std::int64_t edit, const absl::StatusOr<bool>& get_work);
  /// Adds those that are prepared.
  void AddNewcomers(planner::PlanChange& change, std::vector<std::string>& reasons);
  /// Makes those that the change adds workers of the plan; false: one of them is gone.
  bool TakeNewcomers(const planner::PlanChange& change);
  void NewcomerLost(WorkerId worker, Epoch epoch);
  // Workers that were killed and are back before the edit for their loss (job_run_resume.cc).
  /// Edits the plan for the loss of this worker; later, where it may be back with its runs.
  void EditForLoss(planner::WorkerIndex worker, Loss loss);
  /// Whether the edit is worth waiting for this worker: the job needed it, and it holds runs of the
  /// plan.
  bool IsRestarted(planner::WorkerIndex worker) const;
  /// Has the edit wait until they are prepared, or for limits::kRestartWait from the first on.
  void AwaitRestarted(bool first);
  void GiveUpRestarted();
  /// The next edit uses this worker, with the runs that count of those that it kept.
  void UseRestarted(planner::WorkerIndex worker);
  v1::KeptPlan PlanNow() const;
  void PlanEdited(std::int64_t edit, const planner::PlanChange& change,
                  absl::StatusOr<EditedJob> edited);
  void GoOnUnedited();
  /// A refusal may come at once: then one edit would follow the other without a pause.
  void EditAgainSoon(std::int64_t edit);
  /// An edit is journalled before anything is ordered by it: a later master goes on from it.
  void WriteEdit(const std::shared_ptr<const EditedJob>& edited, const planner::PlanChange& change);
  /// Puts what was edited into the status.
  void TellEdit(const EditedJob& edited);
  /// Says of new losses what the edit did about them.
  void MarkLosses(const EditedJob& edited,
                  google::protobuf::RepeatedPtrField<v1::WorkerLoss>& losses) const;
  // What an earlier master left (job_run_resume.cc).
  /// Whether it is of the same input, and workers that are there hold some of it.
  bool CanResume() const;
  /// Edits the plan that ran for the workers that are there; where that cannot be, plans anew.
  void ResumePlan();
  struct ResumedPlan;
  struct EarlierWork;
  /// Takes the workers of that plan for the job's, and names those that are not back.
  EarlierWork TakeEarlierWork();
  /// The plan with what is left to do. Pure. Errors: as PlanFromProto, EditPlannedJob.
  static absl::StatusOr<ResumedPlan> PlanWhatIsLeft(const EarlierWork& work);
  void PlanResumed(std::int64_t plan_epoch, absl::StatusOr<ResumedPlan> resumed);
  void ResumeFailed(const v1::JobError& error);
  /// Plans for the workers alive; where they cannot do, waits for others until the grace is over.
  void PlanForThoseAlive();
  /// OK when the job can be planned for `workers_`. Errors: what is missing, for its user.
  absl::Status ChooseWorkers();
  void AwaitWorkers(const absl::Status& missing);
  void AwaitGraceEnd();
  void PlanGivenPlan();
  /// Why there is another plan than the first; empty for the first.
  std::string LossNote() const;
  std::string LossesInWords() const;
  /// Settles what `planned` gives on the compute pool.
  /// Plans made for earlier epochs are dropped: a worker of theirs is lost.
  void PlanMade(std::int64_t plan_epoch, absl::StatusOr<PlannedJob> planned);
  void TakePlan(absl::AnyInvocable<absl::StatusOr<PlannedJob>()> planned);
  void Stage();
  void Prepare();
  void Conduct();
  void Commit();
  void Release();
  void Discard();
  void DiscardNow();
  void Finish();
  void Published();
  void Learn();

  v1::JournalRecord Record() const;
  v1::JournalRecord PlannedRecord(const PlannedJob& job) const;
  v1::PrepareJobRequest PrepareRequest() const;
  void TakePlannedStatus();
  void FailFrom(const absl::Status& status);
  void TakeProgress();
  void PublishProgress();
  void StartProgressTimer();
  void StartDeadlineTimer();
  void CancelTimer(std::optional<env::EventLoop::TimerId>& timer);
  /// Ends the job when `what` takes longer than kStorageTimeout from now on: by the name of the
  /// output's file system, or of the queue for it where it has not begun. Then it never does.
  void WatchStorage(v1::JobState during, const std::string& what);
  void AwaitStorage(MonoTime until);
  void StorageIsLate();
  /// Gives `work` to the disk pool, watched: its time in the queue, then its time at work.
  template <typename Work, typename Done>
  void UseStorage(v1::JobState during, const std::string& what, Work work, Done done);
  /// Takes back what waits for the disk pool; false: it has begun, or nothing waits.
  bool WithdrawStorage();
  /// How much its shuffles count among those of other jobs.
  double PortWeight() const;
  /// Of the job as a whole: no worker, no attempt.
  v1::Fence JobFence() const;
  bool UsesWorker(std::size_t index) const;
  /// Whether what is left of the job cannot be done without this worker.
  bool StillNeeds(std::size_t index) const;

  const JobRunContext& context_;
  env::EventLoop& loop_;
  JobMachine machine_;
  v1::JobStatus status_;
  const std::shared_ptr<const v1::Plan> given_plan_;
  const OutputPlaces places_;
  std::deque<JobAction> actions_;
  bool waiting_for_journal_ = false;
  double memory_share_ = 1;

  std::int64_t plan_epoch_ = 0;      // of the last plan asked for
  bool plan_in_the_making_ = false;  // it is
  bool plan_again_ = false;          // once it is made: workers were lost meanwhile
  std::int64_t edits_ = 0;           // of plans that ran; the last may be under way
  bool editing_ = false;             // it is
  bool edit_in_the_making_ = false;  // at the compute pool, of this plan or of one before
  std::int64_t edit_waiting_ = 0;    // begins once that is made, if it is the last by then
  bool editable_ = true;             // the plan that runs is of a kind that can be edited
  absl::btree_set<planner::WorkerIndex> joining_, joined_;  // are back: to be prepared; are
  Newcomers newcomers_;                                     // of the plan that runs
  bool newcomers_prepared_ = false;                         // since the last edit was asked for
  absl::btree_set<planner::WorkerIndex> restarted_;         // of joining_: the edit waits for them
  std::int64_t restarts_awaited_ = 0;                       // so often; the last may be over
  ReturnPauses return_pauses_;                              // of workers of plans that ran
  std::vector<std::string> restarts_used_;                  // since the last edit, for people
  std::vector<std::string> waits_chosen_;                   // the same
  absl::btree_map<WorkerId, MonoTime> draining_since_;
  bool workers_awaited_ = false;           // there are too few to plan for
  MonoTime workers_until_;                 // when that ends the job
  bool writing_edit_ = false;              // the edit is made, and on its way to the journal
  bool edit_again_ = false;                // once it is there
  StepBlame blame_;                        // why plans failed whose workers stayed alive
  RunBlame run_blame_;                     // of the plan that runs
  std::vector<RegisteredWorker> workers_;  // by WorkerIndex of that plan
  std::shared_ptr<const PlannedJob> planned_;
  /// What an earlier master ran, until this one runs a plan. And the plan in hand, where it goes on
  /// with that.
  struct ResumedPlan {
    EditedJob edited;
    std::vector<ResumedStep> steps;
    v1::KeptPlan kept;
    std::vector<planner::StepIndex> redone;
    std::string note;
  };
  std::shared_ptr<const JournalledRun> earlier_;
  std::optional<ResumedPlan> resumed_;
  std::optional<InputRanges> input_;
  std::uint64_t job_token_ = 0;
  std::unique_ptr<ConductorRun> plan_run_;
  std::vector<v1::OutputPart> parts_;

  JobReservation reservation_;
  Planning planning_;
  bool storage_busy_ = false;  // a staging or commit is under way on the disk pool, or waits for it
  bool storage_begun_ = false;                   // it is under way
  std::shared_ptr<env::PoolTurn> storage_turn_;  // of the last one
  struct StorageWatch {
    v1::JobState during = v1::JOB_STATE_UNSPECIFIED;
    std::string what;
    MonoTime until = {};
  };
  StorageWatch watched_storage_;  // while there is a timer for it
  bool discard_waits_ = false;
  // Of timers that may outlast the job by minutes; nothing: none is set.
  std::optional<env::EventLoop::TimerId> deadline_, storage_watch_;
  env::CallbackScope callbacks_;
};

}  // namespace weir::master
