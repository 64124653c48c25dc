#include "planner/edit/plan_change.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "planner/edit/step_homes.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

absl::Status CheckChange(const Plan& plan, const PlanChange& change) {
  const auto check_worker = [&](const char* what, WorkerIndex worker) {
    if (worker >= 0 && worker < plan.network.num_workers) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("The ", what, " worker ", worker,
                                                   " does not exist; the plan has ",
                                                   plan.network.num_workers));
  };
  for (const WorkerIndex lost : change.lost) {
    if (absl::Status status = check_worker("lost", lost); !status.ok()) return status;
  }
  for (const PlanChange::Joined& joined : change.joined) {
    if (absl::Status status = check_worker("joined", joined.worker); !status.ok()) return status;
    for (const StepIndex step : joined.runs) {
      if (step >= 0 && At(step) < plan.steps.size()) continue;
      return absl::InvalidArgumentError(absl::StrCat("Worker ", joined.worker,
                                                     " cannot have the run of step ", step,
                                                     ", which does not exist"));
    }
  }
  if (!change.rate_factor.empty() && change.rate_factor.size() != At(plan.network.num_workers)) {
    return absl::InvalidArgumentError("rate_factor must be empty or have one entry a worker");
  }
  for (const double factor : change.rate_factor) {
    if (factor >= 1e-6 && factor <= 1e6) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("A rate_factor must be between 1e-6 and 1e6, is ", factor));
  }
  return absl::OkStatus();
}

/// The run is on the worker, whoever was to make it.
void TakeBack(StepIndex step, WorkerIndex worker, ChangedPlan* changed) {
  PlanState& state = changed->state;
  ComputeStep& planned = changed->plan.steps[At(step)];
  if (state.steps[At(step)] == WorkState::kDone && planned.worker == worker) {
    state.run_there[At(step)] = true;
  }
  if (state.steps[At(step)] != WorkState::kWaiting) return;
  planned.worker = worker;
  state.steps[At(step)] = WorkState::kDone;
  // When it really ran is forgotten; how long it takes is not.
  state.step_began_s[At(step)] = std::max(0.0, state.now_s - planned.duration_s);
  state.step_ended_s[At(step)] = state.now_s;
  state.run_there[At(step)] = true;
}

void ApplyRates(const std::vector<double>& factor, ChangedPlan* changed) {
  changed->state.speed = SpeedsOf(changed->plan, changed->state);
  for (std::size_t w = 0; w < factor.size(); ++w) changed->state.speed[w] *= factor[w];
  for (std::size_t s = 0; s < changed->plan.steps.size(); ++s) {
    ComputeStep& step = changed->plan.steps[s];
    if (changed->state.steps[s] == WorkState::kDone || step.kind->stores) continue;
    step.duration_s /= factor[At(step.worker)];
  }
}

void FindMovable(const PlanChange& change, ChangedPlan* changed) {
  const Plan& plan = changed->plan;
  std::vector<bool> begun(plan.steps.size(), false);  // something of what it reads
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    if (changed->state.transfers[t] != WorkState::kWaiting) {
      begun[At(plan.transfers[t].consumer)] = true;
    }
  }
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const WorkerIndex worker = plan.steps[s].worker;
    if (changed->state.steps[s] != WorkState::kWaiting || !changed->alive[At(worker)]) continue;
    const bool slow = !change.rate_factor.empty() && change.rate_factor[At(worker)] < 1;
    changed->may_move[s] = slow || (!change.joined.empty() && !begun[s]);
  }
}

}  // namespace

absl::StatusOr<ChangedPlan> ApplyChange(const Plan& plan, const PlanState& state,
                                        const PlanChange& change) {
  if (absl::Status status = CheckChange(plan, change); !status.ok()) return status;
  ChangedPlan changed;
  changed.plan = plan;
  changed.state = state;
  changed.alive.assign(At(plan.network.num_workers), true);
  changed.may_move.assign(plan.steps.size(), false);
  for (std::size_t w = 0; w < state.gone.size(); ++w) changed.alive[w] = !state.gone[w];
  for (const PlanChange::Joined& joined : change.joined) changed.alive[At(joined.worker)] = true;
  for (const WorkerIndex lost : change.lost) changed.alive[At(lost)] = false;
  if (std::find(changed.alive.begin(), changed.alive.end(), true) == changed.alive.end()) {
    return absl::UnavailableError("No worker of the plan is left");
  }
  changed.state.gone = changed.alive;
  changed.state.gone.flip();
  for (const PlanChange::Joined& joined : change.joined) {
    if (!changed.alive[At(joined.worker)]) continue;
    for (const StepIndex step : joined.runs) TakeBack(step, joined.worker, &changed);
  }
  if (!change.rate_factor.empty()) ApplyRates(change.rate_factor, &changed);
  FindMovable(change, &changed);
  return changed;
}

}  // namespace weir::planner
