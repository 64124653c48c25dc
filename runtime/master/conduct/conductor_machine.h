#pragma once

// Executes a plan: decides which step starts and which transfer is granted, as reports come in.
// Pure. Upstream: ConductorRun feeds reports and time. Downstream: ConductorRun sends the orders.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"
#include "runtime/base/mono_time.h"
#include "runtime/master/conduct/piece_scaling.h"
#include "runtime/master/conduct/plan_progress.h"
#include "runtime/master/schedule/transfer_scheduler.h"
#include "runtime/master/stragglers/port_rates.h"
#include "runtime/master/stragglers/watched_state.h"

namespace weir::master {

/// Where a step finds one of its input sections.
enum class SectionPlace { kOwnRun, kHandedOver, kReceived };

/// Order to start an attempt of a step. Inputs are in the order of their producers in the plan,
/// whatever arrived first; empty sections are left out.
struct StepStart {
  struct Input {
    planner::StepIndex producer = planner::kNoIndex;
    SectionPlace place = SectionPlace::kOwnRun;
    planner::Bytes offset = 0;
    planner::Bytes bytes = 0;
    int run_attempt = 1;  // of the producer, that made the run
  };
  planner::StepIndex step = planner::kNoIndex;
  std::vector<Input> inputs = {};
  int attempt = 1;
  /// The runs that nobody reads on this worker, or from it, any more.
  std::vector<RunName> unread = {};
};

/// Order to move one piece now.
struct TransferStart {
  planner::TransferIndex transfer = planner::kNoIndex;
  int attempt = 1;
  int run_attempt = 1;  // of the producer, that made the run
  /// Within the producer's run file.
  planner::Bytes offset = 0;
  planner::Bytes bytes = 0;
  planner::Bytes section_offset = 0;
  planner::Bytes section_bytes = 0;
  bool handover = false;
  /// May run beside other transfers of the same ports (plans without an order).
  bool concurrent = false;
  /// kRates: what it is paced at, whatever else moves, or until it is told another one; else 0.
  double rate_bytes_per_s = 0;
};

/// What an update step says of its loop.
enum class LoopGoes { kOn, kNoFurther };

/// What to do now. `finished` comes once, with the last step.
struct ConductorOrders {
  std::vector<StepStart> steps;
  std::vector<TransferStart> transfers;
  /// Plans whose rates change over time: what senders are to pace transfers under way at from now
  /// on.
  std::vector<planner::RateOrder> rates;
  bool finished = false;
};

/// Runs one plan by dependencies, not by the clock: a ledger of what is done (PlanProgress), and a
/// scheduler of who may move next.
///
/// A step starts when its release time has passed, what it waits for is done, and the step before
/// it in its worker's order is done (kinds with an order of their own wait for their own steps
/// only). A worker runs one step at a time: of two that are ready the one predicted to start first
/// goes first, and the other waits for it. At most Plan::store_channels steps that store run at
/// once, the first in the plan first (kStrict: exactly in store_order). A transfer is granted by
/// TransferScheduler's rules once its producer's run is published; its piece is scaled to the size
/// that the section really has, and a piece of no bytes is done without a grant. Transfers inside
/// one hand-over domain are granted as hand-overs; ports, channels and orders hold for them as
/// well. A loop ends with the update step that says so, or with its last iteration; the steps of
/// later iterations then count as done. A plan that was edited while it ran is conducted by another
/// machine, which goes on from the one before. Requires: CheckPlan accepts the plan; the prediction
/// is Predict's; both outlive the conductor. Errors: kAborted for a report of something that is not
/// under way (a stale or invented report);
///   the state is then unchanged. kInternal when a run holds bytes that the plan does not move.
///   A repeated report of something done is OK and changes nothing.
/// Thread-safety: none; control strand only. Time: `now` is passed in and must not go backwards.
/// Checked by: tests/unit/master/conductor_machine_test.cc, conductor_machine_property_test.cc,
/// conductor_machine_loop_test.cc, tests/sim.
class ConductorMachine {
 public:
  /// `handover_domains`: one a worker; workers with the same non-empty value hand runs over in
  /// place. `gate`: as TransferScheduler's.
  ConductorMachine(const planner::Plan& plan, const planner::Prediction& prediction,
                   std::vector<std::string> handover_domains, TransferGate* gate = nullptr);

  /// Goes on with `plan`, which EditPlan made of the one that `before` conducts: what is done stays
  /// done, and what is under way there keeps its ports. `state` and `transfer_was`: as EditPlan
  /// says. `handover_domains`: of those that the edit adds too. `gate`: of the edited plan, in
  /// which nothing moves yet.
  ConductorMachine(const planner::Plan& plan, const planner::Prediction& prediction,
                   const planner::PlanState& state,
                   const std::vector<planner::TransferIndex>& transfer_was,
                   std::vector<std::string> handover_domains, const ConductorMachine& before,
                   TransferGate* gate = nullptr);

  /// Goes on with a plan that an earlier master ran, `now_s` after the start of its run.
  ConductorMachine(const planner::Plan& plan, const planner::Prediction& prediction,
                   std::vector<std::string> handover_domains, PlanProgress earlier,
                   planner::Seconds now_s, MonoTime now, TransferGate* gate = nullptr);

  /// Starts the run at `now`. Call once, first; after an edit, Wake instead.
  ConductorOrders Begin(MonoTime now);
  /// `sections` of its run; empty for steps that write a part. `loop` counts for update steps: one
  /// that ends the loop leaves whatever belongs to later iterations undone.
  absl::Status StepDone(planner::StepIndex step, std::vector<RunSection> sections, MonoTime now,
                        ConductorOrders& orders, LoopGoes loop = LoopGoes::kOn);
  /// The attempt under way came to nothing. Its step begins again with an edit, or never: no orders
  /// are to be asked for before.
  void StepFailed(planner::StepIndex step) { progress_.FailStep(step); }
  /// The same of all that is under way at this worker, and from and to it. Returns those steps.
  std::vector<planner::StepIndex> WorkerRestarted(planner::WorkerIndex worker);
  /// The ports and channels of this transfer may be granted again: `in_flight_bytes` have not
  /// arrived yet, and workers keep the next one back until their ports are free.
  absl::Status TransferNearlyDone(planner::TransferIndex transfer, planner::Bytes in_flight_bytes,
                                  MonoTime now, ConductorOrders& orders);
  absl::Status TransferDone(planner::TransferIndex transfer, MonoTime now, ConductorOrders& orders);
  /// The attempt under way came to nothing: its ports and channels go to others until
  /// RetryTransfer.
  absl::Status TransferFailed(planner::TransferIndex transfer, MonoTime now,
                              ConductorOrders& orders);
  /// The sender has the rate of this number. Nothing happens where the transfer has ended, or has
  /// been given another one. Others may begin by that: Wake.
  void ConfirmRate(planner::TransferIndex transfer, std::int32_t number, MonoTime now);
  /// The sender cannot change the rate: the transfer keeps what it may have, to its end. Wake.
  void FixRate(planner::TransferIndex transfer) { scheduler_.FixRate(transfer); }
  /// Has a transfer that failed granted again, as soon as ports and channels are free for it, as
  /// its next attempt. Nothing happens where it is not waiting for that.
  ConductorOrders RetryTransfer(planner::TransferIndex transfer, MonoTime now);
  /// An attempt that an edit gave up has come to its end on a worker that is there: the worker may
  /// begin its next step. Nothing happens for any other attempt.
  ConductorOrders GivenUpEnded(planner::WorkerIndex worker, const RunName& attempt, MonoTime now);
  /// Orders that time alone makes due. Call at NextWakeup, or whenever.
  ConductorOrders Wake(MonoTime now);
  /// Next moment at which time alone may make an order due.
  std::optional<MonoTime> NextWakeup() const { return next_wakeup_; }

  bool step_under_way(planner::StepIndex step) const {
    return progress_.step_state(step) == PlanProgress::State::kUnderWay;
  }
  /// Whether this attempt was given up, and its worker has not been heard to have ended it.
  bool given_up(planner::WorkerIndex worker, const RunName& attempt) const {
    return workers_[planner::At(worker)].given_up == attempt;
  }
  bool transfer_under_way(planner::TransferIndex transfer) const {
    return progress_.transfer_state(transfer) == PlanProgress::State::kUnderWay;
  }
  /// Bytes that the transfer was granted, or its share of the section once its run is published.
  planner::Bytes transfer_bytes(planner::TransferIndex transfer) const;
  const PlanProgress& progress() const { return progress_; }
  /// How often a worker was asked for its next step: when something that it may have waited for
  /// has come, not each worker at each event, of which a large shuffle has a million.
  std::int64_t looks_for_steps() const { return looks_for_steps_; }
  /// What StragglerWatch is to know, without looking at every transfer: O(steps + transfers that
  /// moved on since the last call). `watched`: of this conductor alone, from its first call on; it
  /// and `step_bytes_done` (as in RunSoFar) hold the result.
  RunSoFar Look(absl::Span<const planner::Bytes> step_bytes_done, planner::Seconds now_s,
                WatchedState* watched);

 private:
  using State = PlanProgress::State;
  /// Steps of one worker in their order.
  struct StepQueue {
    std::vector<planner::StepIndex> steps;
    std::size_t head = 0;
  };
  struct Worker {
    StepQueue main;
    StepQueue own;                    // kinds with an order of their own
    bool busy = false;                // a step of either is under way
    std::optional<RunName> given_up;  // and this is it, of the plan before: nobody waits for it
  };

  ConductorMachine(const planner::Plan& plan, const planner::Prediction& prediction,
                   std::vector<std::string> handover_domains, TransferGate* gate,
                   PlanProgress progress);
  void TakeGivenUp(const planner::PlanState& state, const ConductorMachine& before);
  /// `before`: null, or who conducted the plan that this one was made of, with its transfers.
  void ResumeTransfers(planner::Seconds now_s, const ConductorMachine* before,
                       absl::Span<const planner::TransferIndex> transfer_was);
  void StartTransfers(planner::Seconds now_s, double pace, ConductorOrders& orders);
  void NoteRate(planner::TransferIndex transfer, planner::Seconds now_s);
  void Advance(MonoTime now, ConductorOrders& orders);
  void StartDueSteps(planner::Seconds now_s, ConductorOrders& orders);
  // The next step of the order, where nothing but the store or the other order may hold it up. Sets
  // `later` where only time does.
  planner::StepIndex DueStep(StepQueue& queue, planner::Seconds now_s, bool& later);
  // Something that the step waited for is done.
  void WaitsForLess(planner::StepIndex step);
  bool WaitsForStore(planner::StepIndex step) const;
  bool PlannedBefore(planner::StepIndex a, planner::StepIndex b) const;
  void Start(planner::StepIndex step, planner::Seconds now_s, ConductorOrders& orders);
  std::vector<StepStart::Input> InputsOf(planner::StepIndex step) const;
  TransferStart MakeTransferStart(planner::TransferIndex transfer) const;
  void ScalePieces(planner::StepIndex producer);
  // Of a published run: those that have something to move wait for the network from now on.
  void OfferTransfers(planner::StepIndex producer, planner::Seconds now_s);
  void FinishTransfer(planner::TransferIndex transfer, planner::Seconds now_s);
  void EndLoop(planner::StepIndex update);
  bool SameDomain(planner::WorkerIndex a, planner::WorkerIndex b) const;
  planner::Seconds Since(MonoTime now) const;
  void WakeAt(planner::Seconds when_s);

  const planner::Plan& plan_;
  const planner::Prediction& prediction_;
  const std::vector<std::string> handover_domains_;
  PlanProgress progress_;
  TransferScheduler scheduler_;
  MonoTime began_;
  std::vector<std::int32_t> waits_for_;  // by step: undone steps and transfers before it
  std::vector<std::vector<planner::StepIndex>> steps_behind_;           // by step
  std::vector<std::vector<planner::StepIndex>> steps_behind_transfer_;  // by transfer
  std::vector<std::vector<planner::TransferIndex>> transfers_of_;       // by producer
  std::vector<planner::Bytes> planned_section_bytes_;                   // by transfer
  std::vector<bool> first_of_section_;                                  // by transfer
  std::vector<Piece> pieces_;                     // by transfer, once published
  std::vector<planner::StepIndex> store_before_;  // by write step, on its channel
  std::vector<Worker> workers_;
  // Those that may have a step to start. Others have none until they are put in here.
  absl::btree_set<planner::WorkerIndex> may_start_;
  std::int64_t looks_for_steps_ = 0;
  /// Slowest finished step, actual over predicted finish; nothing before the first one.
  std::optional<double> pace_;
  std::int32_t writes_under_way_ = 0;  // counted while the store is limited
  bool reported_finished_ = false;
  std::optional<MonoTime> next_wakeup_;
};

}  // namespace weir::master
