// A run whose plan is edited while it goes on.

#include <utility>

#include "planner/plan/units.h"
#include "runtime/master/conduct/conductor_run.h"

namespace weir::master {

using planner::At;

void ConductorRun::WorkerLost(planner::WorkerIndex worker) {
  gone_[At(worker)] = true;
  back_[At(worker)] = false;
}

void ConductorRun::WorkerBack(planner::WorkerIndex worker) { back_[At(worker)] = true; }

planner::PlanState ConductorRun::BeginEdit() {
  editing_ = true;
  if (std::exchange(wakeup_set_, false)) loop_.CancelTimer(wakeup_);
  return StateNow();
}

planner::PlanState ConductorRun::StateNow() const {
  planner::PlanState state =
      conductor().progress().StateAt(absl::ToDoubleSeconds(loop_.Now() - began_));
  state.gone = gone_before_edit_;
  return state;
}

std::optional<StragglerDecision> ConductorRun::FindStragglers() {
  if (held()) return std::nullopt;
  const planner::PlanState state = StateNow();
  std::vector<planner::Bytes> granted;
  for (std::size_t t = 0; t < plan().transfers.size(); ++t) {
    granted.push_back(conductor().transfer_bytes(static_cast<planner::TransferIndex>(t)));
  }
  stragglers_->Observe(
      {state, conductor().progress().actual().step_input_bytes, step_bytes_done_, granted});
  return stragglers_->Decide();
}

planner::PlanChange ConductorRun::ChangeSinceEdit() const {
  planner::PlanChange change;
  for (std::size_t w = 0; w < gone_.size(); ++w) {
    const auto worker = static_cast<planner::WorkerIndex>(w);
    if (gone_[w] && !gone_before_edit_[w]) change.lost.push_back(worker);
    if (gone_before_edit_[w] && back_[w]) change.joined.push_back({worker, {}});
  }
  return change;
}

void ConductorRun::GoOn(const EditedJob& edited, const planner::PlanChange& change) {
  if (stopped_) return;
  auto next = std::make_unique<Conducted>(*this, edited.planned,
                                          TransferNumbers(edited.transfer_was, now_->numbers));
  JoinPorts(*next);
  next->conductor.emplace(edited.planned->plan, edited.planned->prediction, edited.state,
                          edited.transfer_was, conductor(), &next->ports);
  stragglers_->TakeEdit(edited.planned->plan, edited.state, edited.transfer_was, change);
  // Its share of the ports goes with it: what moves has them by the other share already.
  now_ = std::move(next);
  for (const planner::StepIndex step : edited.redone) Forget(step);
  step_bytes_done_.resize(plan().steps.size(), 0);
  step_status_.resize(plan().steps.size());
  // What changed while the edit was made is for the next one.
  for (std::size_t w = 0; w < gone_.size(); ++w) {
    if (edited.state.gone[w] || !back_[w]) continue;
    gone_[w] = back_[w] = false;
  }
  for (std::size_t w = 0; w < gone_.size(); ++w) {
    gone_before_edit_[w] = gone_[w] && edited.state.gone[w];
  }
  ++num_edits_;
  editing_ = false;
  CarryOut(conductor().Wake(loop_.Now()));
}

void ConductorRun::GoOnUnedited() {
  editing_ = false;
  if (!stopped_) CarryOut(conductor().Wake(loop_.Now()));
}

void ConductorRun::Forget(planner::StepIndex step) {
  step_bytes_done_[At(step)] = 0;
  step_status_[At(step)].clear();
  skipped_.Forget(step);
  const auto counted = counters_of_step_.find(step);
  if (counted == counters_of_step_.end()) return;
  for (const v1::Counter& counter : counted->second) counters_[counter.name()] -= counter.value();
  counters_of_step_.erase(counted);
}

}  // namespace weir::master
