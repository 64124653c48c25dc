#pragma once

// Runs one plan on real workers: the effects around the conductor. Upstream: JobRun (its life),
// Master (reports). Downstream: ConductorMachine (decisions), OrderBuilder (messages),
// rpc::WorkerApi (calls).

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/functional/any_invocable.h"
#include "runtime/env/callback_scope.h"
#include "runtime/env/event_loop.h"
#include "runtime/master/conduct/conductor_machine.h"
#include "runtime/master/conduct/grant_delay.h"
#include "runtime/master/conduct/order_builder.h"
#include "runtime/master/conduct/skipped_records.h"
#include "runtime/master/conduct/step_counters.h"
#include "runtime/master/conduct/transfer_numbers.h"
#include "runtime/master/learning/codec_trials.h"
#include "runtime/master/planning/planned_job.h"
#include "runtime/master/resume/resumed_run.h"
#include "runtime/master/share/port_share.h"
#include "runtime/master/stragglers/straggler_watch.h"
#include "runtime/master/stragglers/watched_state.h"
#include "runtime/master/workers/transfer_patience.h"
#include "weir/v1/journal.pb.h"
#include "weir/v1/services.pb.h"

namespace weir::master {

/// What failed of a run.
struct RunFault {
  v1::JobError error;
  planner::StepIndex step = planner::kNoIndex;  // whose attempt this ended; none: of a transfer
  /// A run, or what has arrived of it, is not what was written.
  struct Damage {
    RunName run;
    std::string maker;
    planner::StepIndex reader = planner::kNoIndex;
    bool received = false;    // whole and verified: it may be the disk of the reader
    bool made_again = false;  // since the reader began: another run takes its place
  };
  std::optional<Damage> damage = {};
};

/// Who hears what becomes of the run. Neither `failed` nor `finished` comes after Stop; `finished`
/// at most once. After `failed` the run is held, until it is stopped or goes on with an edit;
/// `failed` may come again meanwhile.
struct ConductorRunListener {
  absl::AnyInvocable<void(v1::JournalRecord::StepCommitted)> step_committed;
  absl::AnyInvocable<void()> finished;
  absl::AnyInvocable<void(RunFault)> failed;
};

/// The ports that the run has together with those of other jobs, and how much it counts there.
struct SharedPorts {
  PortArbiter& arbiter;
  double weight = 1;
};

/// One execution of a plan.
///
/// A report counts only for the attempt that is under way. A step that fails holds the run until it
/// is known what follows, and so does a transfer, unless one of its ends may be gone: whether it
/// is, its lease decides. Until then, and for limits::kPeerPatience at most, orders that are not
/// answered are repeated and transfers tried again (TransferPatience). Ports of what it moves are
/// taken for other jobs until it is destroyed: once its workers have let go of the job, or another
/// plan is made for it. A plan may be edited while it runs: BeginEdit holds everything back, so
/// that nothing changes under the hands of who edits, and workers tell again what they had to tell;
/// GoOn takes the edited plan over. Of a step that is done again, what an earlier attempt counted
/// does not count. Thread-safety: on the loop only. Ownership: `input` and `workers` outlive it.
/// Checked by: tests/unit/master/master_test.cc, lost_workers_test.cc, tests/sim.
class ConductorRun {
 public:
  ConductorRun(env::EventLoop& loop, env::Random& random, std::shared_ptr<const PlannedJob> planned,
               const InputRanges& input, const std::vector<RegisteredWorker>& workers,
               const OutputPlaces& places, const GrantOptions& grant_options,
               const SharedPorts& ports, v1::Fence fence, std::int64_t skip_bad,
               ConductorRunListener listener);

  void Begin();
  /// In place of Begin: goes on with a plan that an earlier master ran, as EditPlan has left it.
  /// `steps`, by step: what is known of them.
  void Resume(const planner::PlanState& state, const std::vector<ResumedStep>& steps);
  /// Gives no more orders; later reports are refused.
  void Stop();

  /// As TransferPatience::StoodStill.
  void StoodStill(absl::Duration stood, MonoTime now) { patience_.StoodStill(stood, now); }
  /// This worker does nothing any more, and its runs are gone.
  void WorkerLost(planner::WorkerIndex worker);
  /// One that was lost is there again, under another registration and with nothing of the job: the
  /// next edit may use it.
  void WorkerBack(planner::WorkerIndex worker);
  /// One that was lost since the last edit, and is back under another registration with these runs
  /// of the plan (null: none): the edit that is to be made goes on with them. Returns how many
  /// count. Call while the run is held (conductor_run_resume.cc).
  int WorkerRestarted(planner::WorkerIndex worker, const v1::HeldJob* held);
  /// What making the runs of this worker again takes that somebody has yet to read, divided among
  /// the others.
  absl::Duration RedoTime(planner::WorkerIndex worker) const;
  /// Steps whose attempts came to nothing with such workers, since the last edit.
  const std::vector<planner::StepIndex>& attempts_over() const { return attempts_over_; }
  bool gone(planner::WorkerIndex worker) const { return gone_[planner::At(worker)]; }
  /// Whether no edit was made yet for the loss of this worker.
  bool lost_since_edit(planner::WorkerIndex worker) const {
    return gone_[planner::At(worker)] && !gone_before_edit_[planner::At(worker)];
  }
  /// What the next edit is to do about what failed (conductor_run_faults.cc).
  /// The step, whose attempt came to nothing, begins anew; `elsewhere`: on another worker.
  void BeginAnew(planner::StepIndex step, bool elsewhere);
  /// Its reader, which waits, gets this section of a run once more.
  void SectionLost(const RunFault::Damage& damage);
  /// The run is made again, as far as somebody lacks it.
  void RunLost(const RunFault::Damage& damage);
  /// Gives no orders and takes no reports until GoOn or Stop; returns how far the plan is. May be
  /// called again meanwhile. Workers that were lost before the last edit are named as gone.
  planner::PlanState BeginEdit();
  /// How far the plan is, with the same workers named as gone; the run goes on.
  planner::PlanState StateNow() const;
  /// Workers that were lost, those that came back, and what failed, since the last edit.
  planner::PlanChange ChangeSinceEdit() const;
  /// Looks at how fast workers and ports are beside the plan; call it every limits::kHeartbeat.
  /// Returns for whom the plan should be edited, if for anybody.
  std::optional<StragglerDecision> FindStragglers();
  /// Breaks off what the edit has dropped though it moves between workers that are there: it would
  /// have ports and channels that others get now. Then calls `done`; with why not where one of
  /// them may move on. Call while the run is held; GoOn or GoOnUnedited has to follow. Where edit
  /// after edit has a receiver asked in vain for limits::kPeerPatience, it calls `failed` with that
  /// worker in place of `done`.
  void EndDropped(const EditedJob& edited, absl::AnyInvocable<void(absl::Status)> done);
  /// Goes on with what was made of the state that BeginEdit returned last, and of this change;
  /// those that it adds stand behind the other workers by now.
  void GoOn(const EditedJob& edited, const planner::PlanChange& change);
  /// Goes on as if there had been no edit.
  void GoOnUnedited();

  /// Errors: kAborted for what is stale (other worker epoch or attempt, not under way, stopped, of
  /// a plan before the last edit); kInvalidArgument for a step or transfer that no plan had, as
  /// TakeNonsense; kUnavailable while the plan is edited.
  absl::Status TakeReport(const v1::ReportStepRequest& report);
  absl::Status TakeReport(const v1::ReportTransferRequest& report);
  void TakeProgress(WorkerId worker, const v1::StepProgress& progress);
  /// A report that its check refused: this worker is to blame for it, if it does anything of the
  /// plan under this fence. Nobody else can be: a worker says nothing of others' attempts.
  void TakeNonsense(const v1::Fence& fence, WorkerId worker_id, const std::string& why);

  v1::JobProgress Progress() const;
  planner::ActualRun Actual() const;
  /// The same, with output parts as what the steps that wrote them made, as users want to see it.
  planner::ActualRun ActualWithParts() const;
  /// What codecs made of the runs so far.
  const CodecTrials& codec_trials() const { return codec_trials_; }
  std::vector<CommittedPart> Parts() const { return parts_; }
  absl::btree_map<std::string, std::int64_t> counters() const { return counters_.Sums(); }
  /// The first records that steps left out.
  std::vector<v1::SkippedRecord> skipped() const { return skipped_.named(); }
  /// Whether the rest of the plan needs this worker.
  bool Needs(planner::WorkerIndex worker) const { return conductor().progress().Needs(worker); }
  /// How often the plan was edited while it ran.
  int num_edits() const { return num_edits_; }
  /// Name of a step that this worker is running now; empty when it runs none.
  std::string StepOn(WorkerId worker) const;

 private:
  /// A plan and all that goes by its numbers. An edit brings another one.
  struct Conducted {
    Conducted(const ConductorRun& run, std::shared_ptr<const PlannedJob> plan_of_job,
              TransferNumbers transfer_numbers);

    const std::shared_ptr<const PlannedJob> planned;
    const TransferNumbers numbers;
    const OrderBuilder orders;
    PortShare ports;
    std::optional<ConductorMachine> conductor;  // made once the ports are there
    WatchedState watched;                       // of it
  };

  const planner::Plan& plan() const { return now_->planned->plan; }
  const OrderBuilder& builder() const { return now_->orders; }
  ConductorMachine& conductor() { return *now_->conductor; }
  const ConductorMachine& conductor() const { return *now_->conductor; }
  void Hold();
  /// No orders and no reports: the run is over, or its plan is edited.
  bool held() const { return stopped_ || editing_; }
  void JoinPorts(Conducted& conducted);
  /// What moves between workers that are there, and is not of the edited plan.
  std::vector<planner::TransferIndex> DroppedOnTheLine(const EditedJob& edited) const;
  void Cancel(planner::TransferIndex transfer, absl::AnyInvocable<void(const absl::Status&)> done);
  /// Fails naming a receiver that was asked in vain for too long; false: there is none.
  bool DoWithoutReceiver();
  void MoveBrokenOff();
  void MoveAnew(std::int32_t transfer_number);
  /// The transfer of this number, unless it is over or its receiver is gone.
  std::optional<planner::TransferIndex> PerhapsMoving(std::int32_t transfer_number) const;
  /// `since`: when the run went on without knowing.
  void CancelAgain(std::int32_t transfer_number, MonoTime since);
  void Forget(planner::StepIndex step);
  void TellCommitted(planner::StepIndex step, int attempt, const v1::StepResult& result);
  static std::vector<RunSection> SectionsOf(const v1::RunInfo& run);
  static std::vector<std::string> DomainsOf(const std::vector<RegisteredWorker>& workers);
  /// Of the attempt that is the step's: why it failed; what it made.
  void TakeError(planner::StepIndex step, v1::JobError error);
  absl::Status TakeResult(int attempt, const v1::StepResult& result);
  /// What the first report of a step leaves behind.
  void Commit(int attempt, const v1::StepResult& result);
  // What codecs made of its run, and what a step counted and left out, unless another one counts
  // it. Returns BAD_RECORD once too many are left out, USER_ERROR once too many names count.
  std::optional<v1::JobError> Count(planner::StepIndex step, const v1::StepResult& result);
  void CarryOut(ConductorOrders orders);
  /// An order until its worker has taken it.
  template <typename Method>
  struct Order {
    planner::WorkerIndex worker = 0;
    std::string what;
    planner::StepIndex step = planner::kNoIndex;  // that it is to start
    typename Method::Request request = {};
    MonoTime since = {};  // less what the master stood still
    /// False: its end was reported, or the attempt is over.
    std::function<bool()> awaited = {};
    /// `took_s`: since it was last sent.
    std::function<void(double took_s)> taken = {};
    /// Whether the run goes on where the worker refuses it; empty: it does not.
    std::function<bool(const absl::Status& status)> may_refuse = {};
  };
  void SendStep(const StepStart& start);
  void SendGrant(const TransferStart& start);
  /// One call for each sender.
  void SendRates(const std::vector<planner::RateOrder>& rates);
  void SendRates(planner::WorkerIndex sender, const std::vector<planner::RateOrder>& rates);
  template <typename Method>
  void Send(std::shared_ptr<Order<Method>> order);
  void OrderFailed(planner::WorkerIndex worker, const std::string& what, planner::StepIndex step,
                   const absl::Status& status);
  /// Has a transfer whose source or receiver may be gone tried again in a while; false: it was, for
  /// long enough. `moved`: bytes of it that had arrived.
  bool TryAgain(planner::TransferIndex transfer, const v1::JobError& error, planner::Bytes moved);
  void Retry(std::int32_t transfer_number);
  /// Whether it is of an attempt that was given up.
  bool TakeGivenUp(const v1::ReportStepRequest& report);
  void ScheduleWakeup();
  /// Another job may have left room.
  void TakeTurnSoon();
  void Fail(v1::JobError error) { Fail(RunFault{.error = std::move(error)}); }
  void Fail(RunFault fault);
  /// What the reader's error says of a run that it read.
  std::optional<RunFault::Damage> DamageIn(const v1::JobError& error,
                                           planner::StepIndex reader) const;
  void TransferFailed(planner::TransferIndex transfer, v1::JobError error);
  absl::Status CheckHeld() const;
  absl::Status CheckFence(const v1::Fence& fence, WorkerId worker_id, planner::WorkerIndex expected,
                          int attempt) const;
  // Reports that cannot be true (conductor_run_faults.cc).
  /// What cannot be of a result of an attempt that is under way; empty: nothing.
  std::string NonsenseIn(planner::StepIndex step, int attempt, const v1::StepResult& result) const;
  /// The same of the end of a transfer, or of its being nearly done.
  std::string NonsenseIn(planner::TransferIndex transfer, const v1::TransferReport& report) const;
  /// The worker's fault: the job goes on without it where it can.
  v1::JobError Nonsense(planner::WorkerIndex worker, const std::string& why) const;
  /// Lays an error at one who can have made it: of a transfer, an end of it.
  void NameOwner(planner::TransferIndex transfer, v1::JobError& error) const;
  v1::Fence FenceFor(const RegisteredWorker& worker, int attempt) const;
  const RegisteredWorker& WorkerOf(planner::WorkerIndex index) const;
  const std::string& WorkerOfStep(planner::StepIndex step) const {
    return WorkerOf(plan().steps[planner::At(step)].worker).identity.name();
  }

  env::EventLoop& loop_;
  env::Random& random_;
  const InputRanges& input_;
  const std::vector<RegisteredWorker>& workers_;
  const OutputPlaces places_;
  const GrantOptions grant_options_;
  const SharedPorts shared_ports_;
  const v1::Fence fence_;
  ConductorRunListener listener_;
  PublishedRuns runs_;
  std::unique_ptr<Conducted> now_;
  // By worker: cannot be used by this plan; could not by the last edit; is back since.
  std::vector<bool> gone_, gone_before_edit_, back_;
  planner::PlanChange faults_;  // what failed since the last edit
  std::vector<planner::StepIndex> attempts_over_;
  int num_edits_ = 0;
  bool editing_ = false;
  // Numbers of transfers, since the run is held: broken off; perhaps, as nobody has answered.
  absl::btree_set<std::int32_t> broken_off_, perhaps_broken_off_;
  absl::btree_set<std::int32_t> cancelled_again_;  // of the latter, by runs that went on
  struct NotLetGo {
    MonoTime since;       // when it was first asked for, less what the master stood still
    absl::Status answer;  // the last one
  };
  absl::btree_map<std::int32_t, NotLetGo> not_let_go_;  // of the latter, while the run is held
  std::optional<StragglerWatch> stragglers_;
  std::vector<GrantDelay> grant_delay_;  // by worker
  MonoTime began_;
  bool stopped_ = false;
  TransferPatience patience_;
  env::EventLoop::TimerId wakeup_ = 0;
  bool wakeup_set_ = false;
  bool turn_posted_ = false;
  std::vector<std::int64_t> step_bytes_done_;
  std::vector<std::string> step_status_;  // as last heard
  planner::StepIndex said_last_ = 0;      // whose changed last
  std::vector<CommittedPart> parts_;
  absl::btree_map<planner::StepIndex, planner::Bytes> part_bytes_;
  StepCounters counters_;
  SkippedRecords skipped_;
  v1::LoopReport loop_report_;  // of the iteration that ended last; without a name: none yet
  CodecTrials codec_trials_;
  env::CallbackScope callbacks_;
};

}  // namespace weir::master
