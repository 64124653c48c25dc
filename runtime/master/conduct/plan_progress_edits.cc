// How the ledger of a plan becomes that of the plan which EditPlan makes of it.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include "planner/plan/units.h"
#include "runtime/master/conduct/plan_progress.h"

namespace weir::master {

using planner::At;
using planner::Seconds;
using planner::StepIndex;
using planner::TransferIndex;
using planner::WorkState;

namespace {

WorkState WorkStateOf(PlanProgress::State state) {
  switch (state) {
    case PlanProgress::State::kWaiting:
      return WorkState::kWaiting;
    case PlanProgress::State::kUnderWay:
      return WorkState::kUnderWay;
    case PlanProgress::State::kDone:
      break;
  }
  return WorkState::kDone;
}

}  // namespace

planner::PlanState PlanProgress::StateAt(Seconds now_s) const {
  planner::PlanState state = planner::NothingDone(plan_);
  std::vector<TransferIndex> all(transfers_.size());
  std::iota(all.begin(), all.end(), TransferIndex{0});
  Update(all, now_s, &state);
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    state.run_there[s] = steps_[s].state == State::kDone && !run_removed_[s];
  }
  return state;
}

void PlanProgress::Update(absl::Span<const TransferIndex> transfers, Seconds now_s,
                          planner::PlanState* state) const {
  state->now_s = now_s;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const State now = steps_[s].state;
    state->steps[s] = WorkStateOf(now);
    state->step_began_s[s] = now == State::kWaiting ? -1 : actual_.steps[s].start_s;
    state->step_ended_s[s] = now == State::kDone ? actual_.steps[s].finish_s : -1;
  }
  for (const TransferIndex transfer : transfers) {
    const std::size_t t = At(transfer);
    const State now = transfers_[t].state;
    state->transfers[t] = WorkStateOf(now);
    state->transfer_began_s[t] = now == State::kWaiting ? -1 : actual_.transfers[t].start_s;
    state->transfer_ended_s[t] = now == State::kDone ? actual_.transfers[t].finish_s : -1;
  }
}

PlanProgress::PlanProgress(const planner::Plan& plan, const PlanBefore& before)
    : PlanProgress(plan, Readers::kToBeCounted) {
  TakeSteps(before);
  TakeTransfers(before);
  KeepSections(before);
  actual_.makespan_s = before.progress.actual_.makespan_s;
  IndexSections();
  CountReaders();
  for (std::size_t w = 0; w < before.progress.unread_.size(); ++w) {
    for (const RunName& run : before.progress.unread_[w]) {
      const Copy copy{static_cast<planner::WorkerIndex>(w), run};
      if (!readers_.contains(copy)) unread_[w].push_back(run);
    }
  }
}

PlanProgress::PlanProgress(const planner::Plan& plan, const planner::PlanState& state,
                           std::vector<EarlierStep> steps)
    : PlanProgress(plan, Readers::kToBeCounted) {
  for (std::size_t s = 0; s < steps.size(); ++s) {
    steps_[s].attempt = steps[s].attempt;
    if (state.steps[s] != WorkState::kDone) continue;
    steps_[s].state = State::kDone;
    ++steps_done_;
    run_removed_[s] = !state.run_there[s];
    actual_.steps[s] = {state.step_began_s[s], state.step_ended_s[s]};
    actual_.step_input_bytes[s] = steps[s].input_bytes;
    actual_.makespan_s = std::max(actual_.makespan_s, state.step_ended_s[s]);
    PublishRun(static_cast<StepIndex>(s), std::move(steps[s].sections));
  }
  IndexSections();
  CountReaders();
}

void PlanProgress::TakeSteps(const PlanBefore& before) {
  const PlanProgress& was = before.progress;
  for (std::size_t s = 0; s < was.steps_.size(); ++s) {
    steps_[s].attempt = was.steps_[s].attempt;
    if (before.state.steps[s] == WorkState::kWaiting) continue;
    steps_[s].state = was.steps_[s].state;
    runs_[s] = was.runs_[s];
    if (steps_[s].state == State::kDone) {
      ++steps_done_;
      // Lost with its worker, which may be back one day, and without it.
      run_removed_[s] = !before.state.run_there[s];
    }
    actual_.steps[s] = was.actual_.steps[s];
    actual_.step_input_bytes[s] = was.actual_.step_input_bytes[s];
    actual_.step_output_bytes[s] = was.actual_.step_output_bytes[s];
    actual_.step_unpacked_output_bytes[s] = was.actual_.step_unpacked_output_bytes[s];
  }
}

void PlanProgress::TakeTransfers(const PlanBefore& before) {
  const PlanProgress& was = before.progress;
  for (std::size_t t = 0; t < transfers_.size(); ++t) {
    if (before.transfer_was[t] == planner::kNoIndex) continue;
    const std::size_t earlier = At(before.transfer_was[t]);
    transfers_[t] = was.transfers_[earlier];
    if (transfers_[t].state != State::kWaiting) {
      SetState(static_cast<TransferIndex>(t), transfers_[t].state);
    }
    actual_.transfers[t] = was.actual_.transfers[earlier];
    actual_.transfer_bytes[t] = was.actual_.transfer_bytes[earlier];
    actual_.transfer_in_flight_bytes[t] = was.actual_.transfer_in_flight_bytes[earlier];
    if (plan_.rates_over_time) actual_.transfer_rates[t] = was.actual_.transfer_rates[earlier];
    if (transfers_[t].state == State::kDone) ++transfers_done_;
  }
}

void PlanProgress::KeepSections(const PlanBefore& before) {
  const PlanProgress& was = before.progress;
  std::set<SectionName> brought, to_come;
  for (std::size_t t = 0; t < transfers_.size(); ++t) {
    const planner::Transfer& transfer = plan_.transfers[t];
    auto& of_state = transfers_[t].state == State::kDone ? brought : to_come;
    of_state.insert({transfer.producer, transfer.consumer});
  }
  for (const SectionName& name : brought) {
    const auto& [producer, consumer] = name;
    // One that has begun may yet begin anew, and reads the same again.
    if (to_come.contains(name) || steps_[At(consumer)].state == State::kDone) continue;
    if (const auto kept = was.kept_.find(name); kept != was.kept_.end()) {
      kept_.insert(*kept);
    } else if (Waits(producer)) {
      kept_[name] = {was.RunOf(producer), was.SectionOf(producer, consumer),
                     was.plan_.steps[At(producer)].worker};
    }
  }
}

}  // namespace weir::master
