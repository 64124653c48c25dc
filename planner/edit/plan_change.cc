#include "planner/edit/plan_change.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/edit/added_workers.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

absl::Status CheckFaults(const Plan& plan, const PlanChange& change) {
  const auto exists = [&plan](StepIndex step) { return step >= 0 && At(step) < plan.steps.size(); };
  for (const std::vector<StepIndex>* steps : {&change.elsewhere, &change.runs_lost}) {
    for (const StepIndex step : *steps) {
      if (exists(step)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("Step ", step, " is said to have failed, or its run; it does not exist"));
    }
  }
  for (const auto& [producer, consumer] : change.sections_lost) {
    if (exists(producer) && exists(consumer)) continue;
    return absl::InvalidArgumentError(absl::StrCat("The section from step ", producer, " to step ",
                                                   consumer, " is of steps that do not exist"));
  }
  return absl::OkStatus();
}

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
  for (const WorkerIndex closed : change.closed) {
    if (absl::Status status = check_worker("closed", closed); !status.ok()) return status;
  }
  if (!(change.closed_stay_s >= 0 && change.closed_stay_s <= kPlanValueMax)) {
    return absl::InvalidArgumentError(
        absl::StrCat("closed_stay_s must be between 0 and 1e100, is ", change.closed_stay_s));
  }
  if (absl::Status status = CheckFaults(plan, change); !status.ok()) return status;
  for (const PlanChange::Joined& joined : change.joined) {
    if (absl::Status status = check_worker("joined", joined.worker); !status.ok()) return status;
    for (const StepIndex step : joined.runs) {
      if (step >= 0 && At(step) < plan.steps.size()) continue;
      return absl::InvalidArgumentError(absl::StrCat("Worker ", joined.worker,
                                                     " cannot have the run of step ", step,
                                                     ", which does not exist"));
    }
  }
  for (const std::vector<double>* factors : {&change.rate_factor, &change.port_factor}) {
    if (factors->empty() || factors->size() == At(plan.network.num_workers)) continue;
    return absl::InvalidArgumentError(
        "rate_factor and port_factor must be empty or have one entry a worker");
  }
  const auto check_factor = [](const char* what, double factor) {
    if (factor >= 1e-6 && factor <= 1e6) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("A ", what, " must be between 1e-6 and 1e6, is ", factor));
  };
  for (const double factor : change.rate_factor) {
    if (absl::Status status = check_factor("rate_factor", factor); !status.ok()) return status;
  }
  for (const double factor : change.port_factor) {
    if (absl::Status status = check_factor("port_factor", factor); !status.ok()) return status;
  }
  return check_factor("pace", change.pace);
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

void ApplyRates(const PlanChange& change, ChangedPlan* changed) {
  const std::vector<double>& factor = change.rate_factor;
  if (!factor.empty()) {
    std::vector<double> rates = ComputeRates(changed->plan);
    for (std::size_t w = 0; w < factor.size(); ++w) {
      rates[w] = std::clamp(rates[w] * factor[w], kPlanValueMin, kPlanValueMax);
    }
    changed->plan.compute_rate = std::move(rates);
  }
  for (std::size_t s = 0; s < changed->plan.steps.size(); ++s) {
    ComputeStep& step = changed->plan.steps[s];
    if (changed->state.steps[s] == WorkState::kDone || step.kind->stores) continue;
    const double faster = change.pace * (factor.empty() ? 1 : factor[At(step.worker)]);
    step.duration_s /= faster;
    step.spill_s /= faster;
  }
}

void ApplyPortRates(const std::vector<double>& factor, ChangedPlan* changed) {
  Plan& plan = changed->plan;
  std::vector<Seconds> before_s;
  for (const Transfer& transfer : plan.transfers) {
    before_s.push_back(TransferSeconds(plan, transfer, transfer.bytes));
  }
  std::vector<double>& lag = plan.network.port_lag;
  if (lag.empty()) lag.assign(At(plan.network.num_workers), 1);
  for (std::size_t w = 0; w < factor.size(); ++w) lag[w] = std::max(1.0, lag[w] / factor[w]);
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    Transfer& transfer = plan.transfers[t];
    if (changed->state.transfers[t] != WorkState::kUnderWay || before_s[t] <= 0) continue;
    transfer.duration_s *= TransferSeconds(plan, transfer, transfer.bytes) / before_s[t];
  }
}

// Those who are added are as their profiles say.
bool SlowCpu(const PlanChange& change, WorkerIndex worker) {
  return At(worker) < change.rate_factor.size() && change.rate_factor[At(worker)] < 1;
}

bool SlowPort(const PlanChange& change, WorkerIndex worker) {
  return At(worker) < change.port_factor.size() && change.port_factor[At(worker)] < 1;
}

/// By step: done, on a worker that is there and has a slow port, and not all who wait for its run
/// have theirs.
std::vector<bool> BehindSlowPorts(const PlanChange& change, const ChangedPlan& changed) {
  const Plan& plan = changed.plan;
  std::vector<bool> behind(plan.steps.size(), false);
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    const Transfer& transfer = plan.transfers[t];
    if (changed.state.transfers[t] == WorkState::kDone || !SlowPort(change, transfer.sender)) {
      continue;
    }
    const std::size_t producer = At(transfer.producer);
    const bool there = changed.alive[At(transfer.sender)] && changed.state.run_there[producer] &&
                       plan.steps[producer].worker == transfer.sender;
    if (there && changed.state.steps[At(transfer.consumer)] == WorkState::kWaiting) {
      behind[producer] = true;
    }
  }
  return behind;
}

/// Forgets runs and sections that nobody can read.
void ApplyFaults(const PlanChange& change, ChangedPlan* changed) {
  PlanState& state = changed->state;
  for (const StepIndex step : change.runs_lost) state.run_there[At(step)] = false;
  for (std::size_t t = 0; t < changed->plan.transfers.size(); ++t) {
    const Transfer& transfer = changed->plan.transfers[t];
    const bool lost = std::any_of(
        change.sections_lost.begin(), change.sections_lost.end(), [&](const auto& section) {
          return section.producer == transfer.producer && section.consumer == transfer.consumer;
        });
    if (!lost || state.steps[At(transfer.consumer)] != WorkState::kWaiting) continue;
    state.transfers[t] = WorkState::kWaiting;
    state.transfer_began_s[t] = state.transfer_ended_s[t] = -1;
  }
}

void Close(const PlanChange& change, ChangedPlan* changed) {
  changed->closed.assign(changed->alive.size(), false);
  for (const WorkerIndex closed : change.closed) {
    changed->closed[At(closed)] = changed->alive[At(closed)];
  }
  if (changed->closed == changed->alive) changed->closed.assign(changed->alive.size(), false);
}

/// Whether anybody gets something new beside this worker.
bool AnyOpenBeside(WorkerIndex worker, const ChangedPlan& changed) {
  for (std::size_t w = 0; w < changed.alive.size(); ++w) {
    if (w != At(worker) && changed.alive[w] && !changed.closed[w]) return true;
  }
  return false;
}

/// `begun`: something of what it reads has begun to move.
bool LeavesClosed(const PlanChange& change, const ChangedPlan& changed, std::size_t step,
                  bool begun) {
  const ComputeStep& planned = changed.plan.steps[step];
  if (!changed.closed[At(planned.worker)] || changed.state.steps[step] != WorkState::kWaiting) {
    return false;
  }
  // Where a plan is late, what waits was planned to end by now: that is not soon.
  const bool soon = change.closed_stay_s > 0 && planned.start_s + planned.duration_s <=
                                                    changed.state.now_s + change.closed_stay_s;
  return !begun || !soon;
}

void FindMovable(const PlanChange& change, ChangedPlan* changed) {
  const Plan& plan = changed->plan;
  const std::vector<double>& factor = change.rate_factor;
  const bool better = !change.joined.empty() || !change.added.names.empty() ||
                      std::any_of(factor.begin(), factor.end(), [](double f) { return f > 1; });
  std::vector<bool> begun(plan.steps.size(), false);  // to move, something of what a step reads
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    const Transfer& transfer = plan.transfers[t];
    if (changed->state.transfers[t] != WorkState::kWaiting) begun[At(transfer.consumer)] = true;
  }
  for (const StepIndex step : change.elsewhere) {
    const bool waits = changed->state.steps[At(step)] == WorkState::kWaiting;
    changed->elsewhere[At(step)] = waits && AnyOpenBeside(plan.steps[At(step)].worker, *changed);
  }
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const WorkerIndex worker = plan.steps[s].worker;
    if (!changed->alive[At(worker)]) continue;
    changed->must_move[s] = changed->elsewhere[s] || LeavesClosed(change, *changed, s, begun[s]);
    const bool slow = SlowCpu(change, worker);
    const bool slow_port = SlowPort(change, worker);
    const WorkState work = changed->state.steps[s];
    changed->may_move[s] =
        work == WorkState::kWaiting && (slow || slow_port || (better && !begun[s]));
    changed->may_give_up[s] = work == WorkState::kUnderWay && slow && !plan.steps[s].kind->stores;
  }
  changed->may_make_again = BehindSlowPorts(change, *changed);
}

}  // namespace

absl::StatusOr<ChangedPlan> ApplyChange(const Plan& plan, const PlanState& state,
                                        const PlanChange& change) {
  if (absl::Status status = CheckChange(plan, change); !status.ok()) return status;
  ChangedPlan changed;
  changed.plan = plan;
  changed.state = state;
  changed.whole_steps = change.whole_steps;
  if (absl::Status status = AddWorkers(change.added, &changed.plan, &changed.state); !status.ok()) {
    return status;
  }
  changed.alive.assign(At(changed.plan.network.num_workers), true);
  changed.may_move.assign(plan.steps.size(), false);
  changed.may_give_up.assign(plan.steps.size(), false);
  changed.may_make_again.assign(plan.steps.size(), false);
  changed.must_move.assign(plan.steps.size(), false);
  changed.elsewhere.assign(plan.steps.size(), false);
  for (std::size_t w = 0; w < changed.state.gone.size(); ++w) {
    changed.alive[w] = !changed.state.gone[w];
  }
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
  ApplyFaults(change, &changed);
  Close(change, &changed);
  ApplyRates(change, &changed);
  if (!change.port_factor.empty()) ApplyPortRates(change.port_factor, &changed);
  changed.slow.assign(changed.alive.size(), false);
  for (std::size_t w = 0; w < changed.alive.size(); ++w) {
    const auto worker = static_cast<WorkerIndex>(w);
    changed.slow[w] = changed.alive[w] && (SlowCpu(change, worker) || SlowPort(change, worker));
  }
  FindMovable(change, &changed);
  return changed;
}

}  // namespace weir::planner
