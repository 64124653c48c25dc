#pragma once

// The ledger of one plan: what is done, where runs lie, what has arrived whole, who still reads
// what. Pure; decides nothing. Upstream: ConductorMachine, which writes it. Downstream: the
// conductor's decisions, progress, and whoever plans what is left.

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "planner/edit/plan_state.h"
#include "planner/explain/explain.h"
#include "planner/plan/plan.h"

namespace weir::master {

/// One section of a published run: where it lies in the run file.
struct RunSection {
  planner::StepIndex consumer = planner::kNoIndex;
  planner::Bytes offset = 0;
  planner::Bytes bytes = 0;
  planner::Bytes unpacked_bytes = 0;  // what `bytes` would be without packing
};

/// What one attempt of a step made.
struct RunName {
  planner::StepIndex step = planner::kNoIndex;
  int attempt = 1;
  friend auto operator<=>(const RunName&, const RunName&) = default;
};

/// Where a step reads one of its sections.
struct SectionSource {
  RunName run;
  RunSection section;
  planner::WorkerIndex maker = 0;  // of the run
  bool in_place = false;           // in the run itself, on its maker
};

class PlanProgress;

/// What a plan goes on from: EditPlan's result beside the plan that was edited.
struct PlanBefore {
  const PlanProgress& progress;  // StateAt of it is what was edited
  const planner::PlanState& state;
  const std::vector<planner::TransferIndex>& transfer_was;
};

/// What is known of a step of a plan that an earlier master ran. Plain data.
struct EarlierStep {
  int attempt = 0;  // the highest that is known
  // Of one that is done.
  planner::Bytes input_bytes = 0;
  std::vector<RunSection> sections = {};
};

/// Keeps the state of every step and transfer of a plan, and what follows from it.
///
/// A section is addressed by its producer and its consumer step; where a producer is done again
/// after a reader had its section whole, that reader still reads the earlier run. A run stays on a
/// worker as long as
/// a step that reads from it there, or (on the worker that made it) a step anywhere, is not done;
/// what a reduction tree combines stays where it was made until the reduce steps behind the tree
/// are done, so that whoever is lost in the tree is made up for from just below. Readers are
/// counted, and TakeUnread says when the count has reached zero.
/// Requires: CheckPlan accepts the plan, which outlives this; states go waiting, under way, done.
/// Thread-safety: none; control loop only. Time: seconds from the start of the run, passed in.
/// Checked by: tests/unit/master/plan_progress_test.cc, conductor_machine_property_test.cc.
class PlanProgress {
 public:
  enum class State : std::uint8_t { kWaiting, kUnderWay, kDone };

  explicit PlanProgress(const planner::Plan& plan);
  /// Goes on with `plan`, which EditPlan made of the plan before.
  PlanProgress(const planner::Plan& plan, const PlanBefore& before);
  /// Goes on with what an earlier master left: by `state` no step is under way, and nothing has
  /// moved. `steps`, by step; for those beyond its end nothing is known.
  PlanProgress(const planner::Plan& plan, const planner::PlanState& state,
               std::vector<EarlierStep> steps);

  /// What EditPlan has to know. Names no worker that is gone. A run counts as there until its
  /// worker was told that nobody reads it.
  planner::PlanState StateAt(planner::Seconds now_s) const;
  /// For one who looks often: brings a state of this plan up to date in all of its steps and in
  /// these transfers.
  void Update(absl::Span<const planner::TransferIndex> transfers, planner::Seconds now_s,
              planner::PlanState* state) const;
  /// Transfers that have gone from one state to another since the last call, at first since nothing
  /// was done; each once, rising.
  std::vector<planner::TransferIndex> TakeMovedOn();

  /// Begins the next attempt of a step, counted from 1, and returns its number.
  int StartStep(planner::StepIndex step, planner::Bytes input_bytes, planner::Seconds now_s);
  /// The attempt under way came to nothing; the step waits for the next one.
  void FailStep(planner::StepIndex step) { steps_[planner::At(step)].state = State::kWaiting; }
  /// `sections` of its run, in any order; empty for a step that made a part.
  void FinishStep(planner::StepIndex step, std::vector<RunSection> sections,
                  planner::Seconds now_s);
  /// What nobody needs any more: steps and transfers that had not begun.
  struct Dropped {
    std::vector<planner::StepIndex> steps;
    std::vector<planner::TransferIndex> transfers;
  };
  /// Ends the loop with the iteration of `update`, which is done: whatever only updates of later
  /// iterations wait for counts as done without having run, and nobody reads what was made for it.
  /// Each is named once, rising. Update steps of other ranges of this iteration still run. A
  /// transfer under way to what is dropped comes to its end.
  Dropped EndLoop(planner::StepIndex update);
  /// Begins the next attempt of a transfer, counted from 1, and returns its number.
  int StartTransfer(planner::TransferIndex transfer, planner::Seconds now_s);
  /// The attempt under way came to nothing; the transfer waits for the next one.
  void FailTransfer(planner::TransferIndex transfer);
  /// The ports of a moving transfer are free for the next one; `in_flight_bytes` are to come. Once.
  void PassTransfer(planner::TransferIndex transfer, planner::Bytes in_flight_bytes,
                    planner::Seconds now_s);
  /// `bytes` of the section arrived and were verified. A transfer of no bytes may end unstarted.
  void FinishTransfer(planner::TransferIndex transfer, planner::Bytes bytes,
                      planner::Seconds now_s);

  State step_state(planner::StepIndex step) const { return steps_[planner::At(step)].state; }
  State transfer_state(planner::TransferIndex transfer) const {
    return transfers_[planner::At(transfer)].state;
  }
  /// Number of the last attempt; 0 before the first.
  int step_attempt(planner::StepIndex step) const { return steps_[planner::At(step)].attempt; }
  int transfer_attempt(planner::TransferIndex transfer) const {
    return transfers_[planner::At(transfer)].attempt;
  }
  /// Whether PassTransfer was called.
  bool passed(planner::TransferIndex transfer) const {
    return transfers_[planner::At(transfer)].passed_s >= 0;
  }

  /// OK when the plan has a reader for every byte of the run. Errors: kInternal naming the section.
  absl::Status CheckRun(planner::StepIndex step, const std::vector<RunSection>& sections) const;
  /// The section of a published run; no bytes where the run has none for this consumer.
  RunSection SectionOf(planner::StepIndex producer, planner::StepIndex consumer) const;
  /// Where a step reads a section; no bytes where the run has none for it.
  SectionSource SourceOf(planner::StepIndex producer, planner::StepIndex consumer) const;
  /// Producers of the sections that a step reads, in the order in which it reads them: by layer and
  /// by what of the input they read, or, where it combines, that of Plan::sections. Of several
  /// states of a loop a step reads the latest.
  const std::vector<planner::StepIndex>& ProducersOf(planner::StepIndex consumer) const {
    return producers_of_[planner::At(consumer)];
  }
  /// Whether anything is left that only this worker can do: a step of its own, or a transfer from
  /// or to it.
  bool Needs(planner::WorkerIndex worker) const;
  /// Runs that nobody will read on this worker, or from it, any more; each once, rising.
  std::vector<RunName> TakeUnread(planner::WorkerIndex worker);

  std::int32_t steps_done() const { return steps_done_; }
  std::int32_t transfers_done() const { return transfers_done_; }
  bool finished() const { return planner::At(steps_done_) == steps_.size() && to_dropped_.empty(); }
  /// What happened so far.
  const planner::ActualRun& actual() const { return actual_; }
  /// From then on the transfer, which is under way, has this of its ports and cuts.
  void NoteRate(planner::TransferIndex transfer, const planner::RateChange& rate);

 private:
  struct Step {
    State state = State::kWaiting;
    int attempt = 0;
  };
  struct Transfer {
    State state = State::kWaiting;
    int attempt = 0;
    planner::Seconds passed_s = -1;  // when its ports became free; negative: not yet
  };
  // Of one run at one worker: its own, or what other workers' runs left there.
  using Copy = std::pair<planner::WorkerIndex, RunName>;
  using SectionName = std::pair<planner::StepIndex, planner::StepIndex>;  // producer, consumer
  // Of a run that is made again: brought to its reader before, whole.
  struct KeptSection {
    RunName run;
    RunSection section;
    planner::WorkerIndex maker = 0;
  };

  enum class Readers { kToBeCounted };
  PlanProgress(const planner::Plan& plan, Readers);

  void IndexSections();
  void CountReaders();
  void CountRoots();
  std::vector<std::vector<planner::StepIndex>> RootsOf() const;
  void PublishRun(planner::StepIndex step, std::vector<RunSection> sections);
  void TakeSteps(const PlanBefore& before);
  void TakeTransfers(const PlanBefore& before);
  void KeepSections(const PlanBefore& before);
  // Of the attempt under way or done, else of the one to come.
  RunName RunOf(planner::StepIndex producer) const;
  void ReaderDone(planner::StepIndex consumer);
  void SectionRead(planner::StepIndex producer, planner::StepIndex consumer);
  void ForgetStatesBefore(planner::StepIndex update);
  std::vector<bool> OnlyForLaterThan(planner::StepIndex update) const;
  void Drop(planner::StepIndex step);
  bool Waits(planner::StepIndex step) const {
    return steps_[planner::At(step)].state == State::kWaiting;
  }
  void CountDown(const Copy& copy);
  void SetState(planner::TransferIndex transfer, State state);

  const planner::Plan& plan_;
  std::vector<Step> steps_;
  std::vector<Transfer> transfers_;
  std::vector<std::vector<planner::StepIndex>> producers_of_;  // by consumer
  std::vector<std::vector<planner::StepIndex>> reached_by_;    // by producer: consumers, rising
  std::vector<std::vector<RunSection>> runs_;  // by step, once published; by rising consumer
  std::vector<bool> run_removed_;              // by step: by order, or with its worker
  absl::btree_map<SectionName, KeptSection> kept_;
  absl::btree_map<Copy, std::int32_t> readers_;  // that are not done
  std::vector<std::vector<Copy>> below_;         // by root of trees: runs that are kept for it
  std::vector<std::vector<RunName>> unread_;     // by worker, not yet taken
  // Transfers under way to steps that were dropped, by their section.
  absl::btree_map<SectionName, std::int32_t> to_dropped_;
  std::vector<planner::TransferIndex> moved_on_;  // not yet taken, each once
  std::vector<bool> in_moved_on_;                 // by transfer
  std::int32_t steps_done_ = 0;
  std::int32_t transfers_done_ = 0;
  planner::ActualRun actual_;
};

}  // namespace weir::master
