#include "runtime/master/conduct/conductor_machine.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "planner/plan/units.h"

namespace weir::master {

using planner::At;
using planner::Seconds;
using planner::StepIndex;
using planner::Transfer;
using planner::TransferIndex;
using planner::WorkerIndex;

namespace {

// Clock readings are whole nanoseconds, planned times are not.
constexpr Seconds kClockGrainS = 1e-9;

}  // namespace

ConductorMachine::ConductorMachine(const planner::Plan& plan, const planner::Prediction& prediction,
                                   std::vector<std::string> handover_domains, TransferGate* gate)
    : ConductorMachine(plan, prediction, std::move(handover_domains), gate, PlanProgress(plan)) {}

ConductorMachine::ConductorMachine(const planner::Plan& plan, const planner::Prediction& prediction,
                                   const planner::PlanState& state,
                                   const std::vector<TransferIndex>& transfer_was,
                                   std::vector<std::string> handover_domains,
                                   const ConductorMachine& before, TransferGate* gate)
    : ConductorMachine(plan, prediction, std::move(handover_domains), gate,
                       PlanProgress(plan, PlanBefore{before.progress_, state, transfer_was})) {
  began_ = before.began_;
  for (std::size_t t = 0; t < transfer_was.size(); ++t) {
    if (transfer_was[t] != planner::kNoIndex) pieces_[t] = before.pieces_[At(transfer_was[t])];
  }
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const auto step = static_cast<StepIndex>(s);
    if (progress_.step_state(step) == State::kDone) ScalePieces(step);
    if (progress_.step_state(step) != State::kUnderWay) continue;
    workers_[At(plan.steps[s].worker)].busy = true;
    if (WaitsForStore(step)) ++writes_under_way_;
  }
  TakeGivenUp(state, before);
  ResumeTransfers(state.now_s, &before, transfer_was);
}

ConductorMachine::ConductorMachine(const planner::Plan& plan, const planner::Prediction& prediction,
                                   std::vector<std::string> handover_domains, PlanProgress earlier,
                                   Seconds now_s, MonoTime now, TransferGate* gate)
    : ConductorMachine(plan, prediction, std::move(handover_domains), gate, std::move(earlier)) {
  began_ = now + -absl::Seconds(now_s);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const auto step = static_cast<StepIndex>(s);
    if (progress_.step_state(step) == State::kDone) ScalePieces(step);
  }
  ResumeTransfers(now_s, nullptr, {});
}

// A task runs one step at a time: who is still at a step that others do goes on when it ends.
void ConductorMachine::TakeGivenUp(const planner::PlanState& state,
                                   const ConductorMachine& before) {
  for (std::size_t w = 0; w < before.workers_.size(); ++w) {
    if (!state.gone.empty() && state.gone[w]) continue;
    workers_[w].given_up = before.workers_[w].given_up;
    for (const StepIndex step : before.plan_.compute_order[w]) {
      if (before.progress_.step_state(step) != State::kUnderWay) continue;
      if (progress_.step_state(step) == State::kUnderWay) continue;
      workers_[w].given_up = RunName{step, before.progress_.step_attempt(step)};
    }
    if (workers_[w].given_up) workers_[w].busy = true;
  }
}

ConductorOrders ConductorMachine::GivenUpEnded(WorkerIndex worker, const RunName& attempt,
                                               MonoTime now) {
  Worker& at = workers_[At(worker)];
  if (at.given_up != attempt) return {};
  at.given_up.reset();
  at.busy = false;
  may_start_.insert(worker);
  return Wake(now);
}

ConductorMachine::ConductorMachine(const planner::Plan& plan, const planner::Prediction& prediction,
                                   std::vector<std::string> handover_domains, TransferGate* gate,
                                   PlanProgress progress)
    : plan_(plan),
      prediction_(prediction),
      handover_domains_(std::move(handover_domains)),
      progress_(std::move(progress)),
      scheduler_(plan, prediction, gate),
      waits_for_(plan.steps.size(), 0),
      steps_behind_(plan.steps.size()),
      steps_behind_transfer_(plan.transfers.size()),
      transfers_of_(plan.steps.size()),
      planned_section_bytes_(plan.transfers.size(), 0),
      first_of_section_(plan.transfers.size(), false),
      pieces_(plan.transfers.size()),
      store_before_(plan.steps.size(), planner::kNoIndex) {
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const planner::ComputeStep& step = plan.steps[s];
    for (const StepIndex before : step.after_steps) {
      steps_behind_[At(before)].push_back(static_cast<StepIndex>(s));
      waits_for_[s] += progress_.step_state(before) == State::kDone ? 0 : 1;
    }
    for (const TransferIndex before : step.after_transfers) {
      steps_behind_transfer_[At(before)].push_back(static_cast<StepIndex>(s));
      waits_for_[s] += progress_.transfer_state(before) == State::kDone ? 0 : 1;
    }
  }
  absl::btree_map<std::pair<StepIndex, StepIndex>, planner::Bytes> section_bytes;
  for (const planner::Section& section : plan.sections) {
    section_bytes[{section.producer, section.consumer}] = section.bytes;
  }
  absl::btree_map<std::pair<StepIndex, StepIndex>, bool> seen;
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    const Transfer& transfer = plan.transfers[t];
    const std::pair<StepIndex, StepIndex> pair{transfer.producer, transfer.consumer};
    transfers_of_[At(transfer.producer)].push_back(static_cast<TransferIndex>(t));
    planned_section_bytes_[t] = section_bytes[pair];
    first_of_section_[t] = !std::exchange(seen[pair], true);
  }
  for (const auto& order : plan.compute_order) {
    Worker worker;
    for (const StepIndex step : order) {
      const bool own = plan.steps[At(step)].kind->own_order;
      (own ? worker.own : worker.main).steps.push_back(step);
    }
    may_start_.insert(static_cast<WorkerIndex>(workers_.size()));
    workers_.push_back(std::move(worker));
  }
  for (const std::vector<StepIndex>& order : plan.store_order) {
    for (std::size_t i = 1; i < order.size(); ++i) store_before_[At(order[i])] = order[i - 1];
  }
}

Seconds ConductorMachine::Since(MonoTime now) const { return absl::ToDoubleSeconds(now - began_); }

void ConductorMachine::WakeAt(Seconds when_s) {
  const MonoTime when = began_ + absl::Nanoseconds(std::ceil(when_s * 1e9) + 1);
  if (!next_wakeup_ || when < *next_wakeup_) next_wakeup_ = when;
}

planner::Bytes ConductorMachine::transfer_bytes(TransferIndex transfer) const {
  return pieces_[At(transfer)].size();
}

RunSoFar ConductorMachine::Look(absl::Span<const planner::Bytes> step_bytes_done, Seconds now_s,
                                WatchedState* watched) {
  watched->moved_on = progress_.TakeMovedOn();
  progress_.Update(watched->moved_on, now_s, &watched->state);
  for (const TransferIndex transfer : watched->moved_on) {
    watched->granted[At(transfer)] = transfer_bytes(transfer);
  }
  return {.state = watched->state,
          .step_input_bytes = progress_.actual().step_input_bytes,
          .step_bytes_done = step_bytes_done,
          .transfer_bytes = watched->granted,
          .moved_on = watched->moved_on};
}

bool ConductorMachine::SameDomain(WorkerIndex a, WorkerIndex b) const {
  const std::string& domain = handover_domains_[At(a)];
  return !domain.empty() && domain == handover_domains_[At(b)];
}

ConductorOrders ConductorMachine::Begin(MonoTime now) {
  began_ = now;
  return Wake(now);
}

ConductorOrders ConductorMachine::Wake(MonoTime now) {
  ConductorOrders orders;
  Advance(now, orders);
  return orders;
}

absl::Status ConductorMachine::StepDone(StepIndex step, std::vector<RunSection> sections,
                                        MonoTime now, ConductorOrders& orders, LoopGoes loop) {
  const State state = progress_.step_state(step);
  if (state == State::kDone) return absl::OkStatus();
  if (state == State::kWaiting) {
    return absl::AbortedError(absl::StrCat("step ", step, " was reported done before its start"));
  }
  if (absl::Status run = progress_.CheckRun(step, sections); !run.ok()) return run;
  const Seconds now_s = Since(now);
  progress_.FinishStep(step, std::move(sections), now_s);
  workers_[At(plan_.steps[At(step)].worker)].busy = false;
  may_start_.insert(plan_.steps[At(step)].worker);
  if (WaitsForStore(step)) --writes_under_way_;
  const Seconds predicted_s = prediction_.steps[At(step)].finish_s;
  if (predicted_s > 0) pace_ = std::max(pace_.value_or(0), now_s / predicted_s);
  for (const StepIndex behind : steps_behind_[At(step)]) WaitsForLess(behind);
  ScalePieces(step);
  if (loop == LoopGoes::kNoFurther && plan_.steps[At(step)].kind->updates_state) EndLoop(step);
  OfferTransfers(step, now_s);
  Advance(now, orders);
  return absl::OkStatus();
}

void ConductorMachine::WaitsForLess(StepIndex step) {
  if (--waits_for_[At(step)] == 0) may_start_.insert(plan_.steps[At(step)].worker);
}

void ConductorMachine::EndLoop(StepIndex update) {
  const PlanProgress::Dropped dropped = progress_.EndLoop(update);
  for (const StepIndex step : dropped.steps) {
    may_start_.insert(plan_.steps[At(step)].worker);
    for (const StepIndex behind : steps_behind_[At(step)]) WaitsForLess(behind);
  }
  for (const TransferIndex transfer : dropped.transfers) {
    scheduler_.Skip(transfer);
    for (const StepIndex behind : steps_behind_transfer_[At(transfer)]) WaitsForLess(behind);
  }
}

// What has begun to move keeps its piece: it may be of an earlier run.
void ConductorMachine::ScalePieces(StepIndex producer) {
  for (const TransferIndex transfer : transfers_of_[At(producer)]) {
    if (progress_.transfer_state(transfer) != State::kWaiting) continue;
    const Transfer& t = plan_.transfers[At(transfer)];
    pieces_[At(transfer)] = ScalePiece(t.offset, t.bytes, planned_section_bytes_[At(transfer)],
                                       progress_.SectionOf(producer, t.consumer).bytes,
                                       first_of_section_[At(transfer)]);
  }
}

void ConductorMachine::ResumeTransfers(Seconds now_s, const ConductorMachine* before,
                                       absl::Span<const TransferIndex> transfer_was) {
  std::vector<TransferScheduler::Moving> moving;
  for (std::size_t t = 0; t < plan_.transfers.size(); ++t) {
    const auto transfer = static_cast<TransferIndex>(t);
    const State state = progress_.transfer_state(transfer);
    if (state == State::kUnderWay && !progress_.passed(transfer)) {
      const double rate = plan_.transfers[t].rate_bytes_per_s;
      TransferScheduler::Moving moves{transfer, {{transfer, rate, 0}, rate, pieces_[t].size()}};
      if (before != nullptr) {
        moves.rate = before->scheduler_.RateOf(transfer_was[t], now_s).value_or(moves.rate);
      }
      moving.push_back(moves);
    } else if (state != State::kWaiting) {
      scheduler_.Skip(transfer);
    }
  }
  scheduler_.Resume(moving, now_s);
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    const auto step = static_cast<StepIndex>(s);
    if (progress_.step_state(step) == State::kDone) OfferTransfers(step, now_s);
  }
}

void ConductorMachine::OfferTransfers(StepIndex producer, Seconds now_s) {
  for (const TransferIndex transfer : transfers_of_[At(producer)]) {
    if (progress_.transfer_state(transfer) != State::kWaiting) continue;
    if (pieces_[At(transfer)].size() > 0) {
      scheduler_.SetReady(transfer, pieces_[At(transfer)].size());
    } else {
      scheduler_.Skip(transfer);
      FinishTransfer(transfer, now_s);
    }
  }
}

absl::Status ConductorMachine::TransferNearlyDone(TransferIndex transfer,
                                                  planner::Bytes in_flight_bytes, MonoTime now,
                                                  ConductorOrders& orders) {
  const State state = progress_.transfer_state(transfer);
  if (state == State::kWaiting) {
    return absl::AbortedError(
        absl::StrCat("transfer ", transfer, " was reported nearly done before its grant"));
  }
  if (state == State::kDone || progress_.passed(transfer)) return absl::OkStatus();
  progress_.PassTransfer(transfer, in_flight_bytes, Since(now));
  scheduler_.Pass(transfer);
  Advance(now, orders);
  return absl::OkStatus();
}

absl::Status ConductorMachine::TransferDone(TransferIndex transfer, MonoTime now,
                                            ConductorOrders& orders) {
  const State state = progress_.transfer_state(transfer);
  if (state == State::kDone) return absl::OkStatus();
  if (state == State::kWaiting) {
    return absl::AbortedError(
        absl::StrCat("transfer ", transfer, " was reported done before its grant"));
  }
  scheduler_.Pass(transfer);
  FinishTransfer(transfer, Since(now));
  Advance(now, orders);
  return absl::OkStatus();
}

absl::Status ConductorMachine::TransferFailed(TransferIndex transfer, MonoTime now,
                                              ConductorOrders& orders) {
  if (progress_.transfer_state(transfer) != State::kUnderWay) {
    return absl::AbortedError(absl::StrCat("transfer ", transfer, " failed and is not under way"));
  }
  progress_.FailTransfer(transfer);
  scheduler_.Pass(transfer);
  Advance(now, orders);
  return absl::OkStatus();
}

std::vector<StepIndex> ConductorMachine::WorkerRestarted(WorkerIndex worker) {
  workers_[At(worker)].given_up.reset();
  std::vector<StepIndex> over;
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    const auto step = static_cast<StepIndex>(s);
    if (plan_.steps[s].worker != worker || !step_under_way(step)) continue;
    progress_.FailStep(step);
    over.push_back(step);
  }
  for (std::size_t t = 0; t < plan_.transfers.size(); ++t) {
    const auto transfer = static_cast<TransferIndex>(t);
    const bool its = plan_.transfers[t].sender == worker || plan_.transfers[t].receiver == worker;
    if (its && transfer_under_way(transfer)) progress_.FailTransfer(transfer);
  }
  return over;
}

ConductorOrders ConductorMachine::RetryTransfer(TransferIndex transfer, MonoTime now) {
  const bool failed = progress_.transfer_state(transfer) == State::kWaiting &&
                      progress_.transfer_attempt(transfer) > 0;
  if (failed) scheduler_.Return(transfer, pieces_[At(transfer)].size());
  return Wake(now);
}

void ConductorMachine::ConfirmRate(TransferIndex transfer, std::int32_t number, MonoTime now) {
  scheduler_.ConfirmRate(transfer, number);
  NoteRate(transfer, Since(now));
}

void ConductorMachine::NoteRate(TransferIndex transfer, Seconds now_s) {
  const auto rate = scheduler_.RateOf(transfer, now_s);
  if (rate) progress_.NoteRate(transfer, {now_s, rate->held_bytes_per_s});
}

void ConductorMachine::FinishTransfer(TransferIndex transfer, Seconds now_s) {
  progress_.FinishTransfer(transfer, pieces_[At(transfer)].size(), now_s);
  for (const StepIndex behind : steps_behind_transfer_[At(transfer)]) WaitsForLess(behind);
}

void ConductorMachine::Advance(MonoTime now, ConductorOrders& orders) {
  const Seconds now_s = Since(now);
  // Being ahead of the plan moves every due time forward; being behind is what lateness means.
  const double pace = std::min(1.0, pace_.value_or(1.0));
  next_wakeup_.reset();
  StartDueSteps(now_s, orders);
  StartTransfers(now_s, pace, orders);
  if (scheduler_.next_late_s()) WakeAt(*scheduler_.next_late_s());
  if (progress_.finished() && !std::exchange(reported_finished_, true)) orders.finished = true;
}

void ConductorMachine::StartTransfers(Seconds now_s, double pace, ConductorOrders& orders) {
  for (bool again = true; std::exchange(again, false);) {
    for (const TransferIndex transfer : scheduler_.TakeStartable(now_s, pace)) {
      const int attempt = progress_.StartTransfer(transfer, now_s);
      orders.transfers.push_back(MakeTransferStart(transfer));
      orders.transfers.back().attempt = attempt;
      if (const auto rate = scheduler_.RateOf(transfer, now_s)) {
        orders.transfers.back().rate_bytes_per_s = rate->order.bytes_per_s;
        NoteRate(transfer, now_s);
      }
    }
    for (const planner::RateOrder& order : scheduler_.TakeRateOrders()) {
      const Transfer& planned = plan_.transfers[At(order.transfer)];
      NoteRate(order.transfer, now_s);
      if (!SameDomain(planned.sender, planned.receiver)) {
        orders.rates.push_back(order);
        continue;
      }
      // A link in place has no sender that could be told, and needs no rate.
      scheduler_.ConfirmRate(order.transfer, order.number);
      NoteRate(order.transfer, now_s);
      again = true;
    }
  }
}

StepIndex ConductorMachine::DueStep(StepQueue& queue, Seconds now_s, bool& later) {
  while (queue.head < queue.steps.size() &&
         progress_.step_state(queue.steps[queue.head]) == State::kDone) {
    ++queue.head;
  }
  if (queue.head == queue.steps.size()) return planner::kNoIndex;
  const StepIndex step = queue.steps[queue.head];
  if (progress_.step_state(step) != State::kWaiting || waits_for_[At(step)] > 0) {
    return planner::kNoIndex;
  }
  const Seconds release_s = plan_.steps[At(step)].release_s;
  if (now_s + kClockGrainS >= release_s) return step;
  WakeAt(release_s);
  later = true;
  return planner::kNoIndex;
}

bool ConductorMachine::WaitsForStore(StepIndex step) const {
  return plan_.store_channels > 0 && plan_.steps[At(step)].kind->stores;
}

bool ConductorMachine::PlannedBefore(StepIndex a, StepIndex b) const {
  return std::pair(prediction_.steps[At(a)].start_s, a) <
         std::pair(prediction_.steps[At(b)].start_s, b);
}

void ConductorMachine::StartDueSteps(Seconds now_s, ConductorOrders& orders) {
  std::vector<StepIndex> writes;  // ready, wait for the store only
  for (auto next = may_start_.begin(); next != may_start_.end();) {
    Worker& worker = workers_[At(*next)];
    ++looks_for_steps_;
    bool later = false;
    if (!worker.busy) {
      const StepIndex main = DueStep(worker.main, now_s, later);
      const StepIndex own = DueStep(worker.own, now_s, later);
      // What a plan lets run beside each other takes turns: a task process runs one step at a time.
      const bool own_first =
          own != planner::kNoIndex &&
          (main == planner::kNoIndex || WaitsForStore(main) || PlannedBefore(own, main));
      const StepIndex step = own_first ? own : main;
      if (step != planner::kNoIndex && WaitsForStore(step)) {
        const bool strict = plan_.transfer_order == planner::TransferOrder::kStrict;
        const StepIndex before = strict ? store_before_[At(step)] : planner::kNoIndex;
        if (before == planner::kNoIndex || progress_.step_state(before) == State::kDone) {
          writes.push_back(step);
        }
        later = true;
      } else if (step != planner::kNoIndex) {
        Start(step, now_s, orders);
      }
    }
    next = later ? std::next(next) : may_start_.erase(next);
  }
  // A write that is late does not hold up one that is ready, and both count against the store.
  std::sort(writes.begin(), writes.end(),
            [this](StepIndex a, StepIndex b) { return PlannedBefore(a, b); });
  for (const StepIndex step : writes) {
    if (writes_under_way_ >= plan_.store_channels) break;
    ++writes_under_way_;
    Start(step, now_s, orders);
  }
}

void ConductorMachine::Start(StepIndex step, Seconds now_s, ConductorOrders& orders) {
  const planner::ComputeStep& planned = plan_.steps[At(step)];
  StepStart start{step, InputsOf(step)};
  planner::Bytes input_bytes = planned.input_end - planned.input_begin;
  for (const StepStart::Input& input : start.inputs) input_bytes += input.bytes;
  start.attempt = progress_.StartStep(step, input_bytes, now_s);
  workers_[At(planned.worker)].busy = true;
  start.unread = progress_.TakeUnread(planned.worker);
  orders.steps.push_back(std::move(start));
}

std::vector<StepStart::Input> ConductorMachine::InputsOf(StepIndex step) const {
  std::vector<StepStart::Input> inputs;
  const WorkerIndex worker = plan_.steps[At(step)].worker;
  for (const StepIndex producer : progress_.ProducersOf(step)) {
    const SectionSource source = progress_.SourceOf(producer, step);
    if (source.section.bytes == 0) continue;
    const SectionPlace place = source.in_place                    ? SectionPlace::kOwnRun
                               : SameDomain(source.maker, worker) ? SectionPlace::kHandedOver
                                                                  : SectionPlace::kReceived;
    inputs.push_back(StepStart::Input{producer, place, source.section.offset, source.section.bytes,
                                      source.run.attempt});
  }
  return inputs;
}

TransferStart ConductorMachine::MakeTransferStart(TransferIndex transfer) const {
  const Transfer& t = plan_.transfers[At(transfer)];
  const RunSection section = progress_.SectionOf(t.producer, t.consumer);
  const Piece& piece = pieces_[At(transfer)];
  TransferStart start;
  start.transfer = transfer;
  start.run_attempt = progress_.step_attempt(t.producer);
  start.offset = section.offset + piece.begin;
  start.bytes = piece.size();
  start.section_offset = section.offset;
  start.section_bytes = section.bytes;
  start.handover = SameDomain(t.sender, t.receiver);
  start.concurrent = !planner::IsOrdered(plan_.transfer_order);
  start.rate_bytes_per_s = t.rate_bytes_per_s;
  return start;
}

}  // namespace weir::master
