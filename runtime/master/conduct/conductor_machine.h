#pragma once

// Executes a plan: decides which step starts and which transfer is granted, as reports come in.
// Pure. Upstream: ConductorRun feeds reports and time. Downstream: ConductorRun sends the orders.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "planner/explain/explain.h"
#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"
#include "runtime/base/mono_time.h"
#include "runtime/master/conduct/piece_scaling.h"
#include "runtime/master/conduct/transfer_scheduler.h"

namespace weir::master {

/// One section of a published run: where it lies in the run file.
struct RunSection {
  std::int32_t consumer = 0;  // index_in_layer of the consumer
  planner::Bytes offset = 0;
  planner::Bytes bytes = 0;
  planner::Bytes unpacked_bytes = 0;  // what `bytes` would be without packing
};

/// Where a step finds one of its input sections.
enum class SectionPlace { kOwnRun, kHandedOver, kReceived };

/// Order to start a step. Inputs are in the order of their producers in the plan, whatever arrived
/// first; empty sections are left out.
struct StepStart {
  struct Input {
    planner::StepIndex producer = planner::kNoIndex;
    SectionPlace place = SectionPlace::kOwnRun;
    planner::Bytes offset = 0;
    planner::Bytes bytes = 0;
  };
  planner::StepIndex step = planner::kNoIndex;
  std::vector<Input> inputs;
};

/// Order to move one piece now.
struct TransferStart {
  planner::TransferIndex transfer = planner::kNoIndex;
  /// Within the producer's run file.
  planner::Bytes offset = 0;
  planner::Bytes bytes = 0;
  planner::Bytes section_offset = 0;
  planner::Bytes section_bytes = 0;
  bool handover = false;
  /// May run beside other transfers of the same ports (kFetchAll).
  bool concurrent = false;
};

/// What to do now. `finished` comes once, with the last step.
struct ConductorOrders {
  std::vector<StepStart> steps;
  std::vector<TransferStart> transfers;
  bool finished = false;
};

/// Runs one plan by dependencies, not by the clock.
///
/// A step starts when its release time has passed, what it waits for is done, and the step before
/// it in its worker's order is done (combine steps form an order of their own). At most
/// Plan::store_channels write steps run at once, the first in the plan first (kStrict: exactly in
/// store_order). A transfer is
/// granted by TransferScheduler's rules once its producer's run is published; its piece is scaled
/// to the size that the section really has, and a piece of no bytes is done without a grant.
/// Transfers inside one hand-over domain are granted as hand-overs; ports, channels and orders hold
/// for them as well. Requires: CheckPlan accepts the plan; the prediction is Predict's; both
/// outlive the conductor. Errors: kAborted for a report of something that is not under way (a stale
/// or invented report);
///   the state is then unchanged. kInternal when a run holds bytes that the plan does not move.
///   A repeated report of something done is OK and changes nothing.
/// Thread-safety: none; control strand only. Time: `now` is passed in and must not go backwards.
/// Checked by: tests/unit/master/conductor_machine_test.cc, conductor_machine_property_test.cc,
/// tests/sim.
class ConductorMachine {
 public:
  /// `handover_domains`: one a worker; workers with the same non-empty value hand runs over in
  /// place.
  ConductorMachine(const planner::Plan& plan, const planner::Prediction& prediction,
                   std::vector<std::string> handover_domains);

  /// Starts the run at `now`. Call once, first.
  ConductorOrders Begin(MonoTime now);
  /// `sections` of its run; empty for steps that write a part.
  absl::Status StepDone(planner::StepIndex step, std::vector<RunSection> sections, MonoTime now,
                        ConductorOrders& orders);
  /// The ports and channels of this transfer may be granted again: `in_flight_bytes` have not
  /// arrived yet, and workers keep the next one back until their ports are free.
  absl::Status TransferNearlyDone(planner::TransferIndex transfer, planner::Bytes in_flight_bytes,
                                  MonoTime now, ConductorOrders& orders);
  absl::Status TransferDone(planner::TransferIndex transfer, MonoTime now, ConductorOrders& orders);
  /// Orders that time alone makes due. Call at NextWakeup, or whenever.
  ConductorOrders Wake(MonoTime now);
  /// Next moment at which time alone may make an order due.
  std::optional<MonoTime> NextWakeup() const { return next_wakeup_; }

  bool step_under_way(planner::StepIndex step) const;
  bool transfer_under_way(planner::TransferIndex transfer) const;
  /// Bytes that the transfer was granted, or its share of the section once its run is published.
  planner::Bytes transfer_bytes(planner::TransferIndex transfer) const;
  std::int32_t steps_done() const { return steps_done_; }
  std::int32_t transfers_done() const { return transfers_done_; }
  bool finished() const;
  /// What happened so far, seconds from Begin.
  const planner::ActualRun& actual() const { return actual_; }

 private:
  enum class State : std::uint8_t { kWaiting, kUnderWay, kDone };
  /// A worker's steps that run one at a time, in order.
  struct StepQueue {
    std::vector<planner::StepIndex> steps;
    std::size_t head = 0;
  };

  void Advance(MonoTime now, ConductorOrders& orders);
  void StartDueSteps(planner::Seconds now_s, ConductorOrders& orders);
  void Start(planner::StepIndex step, planner::Seconds now_s, ConductorOrders& orders);
  StepStart MakeStepStart(planner::StepIndex step) const;
  TransferStart MakeTransferStart(planner::TransferIndex transfer) const;
  absl::Status CheckRun(planner::StepIndex step, const std::vector<RunSection>& sections) const;
  void PublishRun(planner::StepIndex step, std::vector<RunSection> sections);
  void FinishTransfer(planner::TransferIndex transfer, planner::Seconds now_s);
  RunSection SectionFor(planner::StepIndex producer, planner::StepIndex consumer) const;
  bool SameDomain(planner::WorkerIndex a, planner::WorkerIndex b) const;
  planner::Seconds Since(MonoTime now) const;
  void WakeAt(planner::Seconds when_s);

  const planner::Plan& plan_;
  const planner::Prediction& prediction_;
  const std::vector<std::string> handover_domains_;
  TransferScheduler scheduler_;
  MonoTime began_;
  std::vector<State> step_state_;
  std::vector<State> transfer_state_;
  std::vector<std::int32_t> waits_for_;  // by step: undone steps and transfers before it
  std::vector<std::vector<planner::StepIndex>> steps_behind_;           // by step
  std::vector<std::vector<planner::StepIndex>> steps_behind_transfer_;  // by transfer
  std::vector<std::vector<planner::TransferIndex>> transfers_of_;       // by producer
  /// By producer: index_in_layer of the consumers whose section stays or is moved by the plan.
  std::vector<absl::btree_set<std::int32_t>> reachable_consumers_;
  std::vector<std::vector<planner::StepIndex>> producers_of_;  // by consumer, rising
  std::vector<std::vector<RunSection>> runs_;                  // by step, once published
  std::vector<planner::Bytes> planned_section_bytes_;          // by transfer
  std::vector<bool> first_of_section_;                         // by transfer
  std::vector<Piece> pieces_;                                  // by transfer, once published
  std::vector<planner::StepIndex> store_before_;               // by write step, on its channel
  /// When the ports of a moving transfer became free for the next, by transfer; negative: not yet.
  std::vector<planner::Seconds> released_s_;
  std::vector<StepQueue> queues_;
  /// Slowest finished step, actual over predicted finish; nothing before the first one.
  std::optional<double> pace_;
  std::int32_t writes_under_way_ = 0;  // counted while the store is limited
  std::int32_t steps_done_ = 0;
  std::int32_t transfers_done_ = 0;
  bool reported_finished_ = false;
  std::optional<MonoTime> next_wakeup_;
  planner::ActualRun actual_;
};

}  // namespace weir::master
