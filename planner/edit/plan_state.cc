#include "planner/edit/plan_state.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

template <typename... Parts>
absl::Status InvalidState(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat("State of the plan: ", parts...));
}

absl::Status CheckSizes(const Plan& plan, const PlanState& state) {
  const std::size_t steps = plan.steps.size();
  const std::size_t transfers = plan.transfers.size();
  const auto workers = At(plan.network.num_workers);
  if (state.steps.size() != steps || state.step_began_s.size() != steps ||
      state.step_ended_s.size() != steps || state.run_there.size() != steps) {
    return InvalidState("it must have one entry a step, ", steps);
  }
  if (state.transfers.size() != transfers || state.transfer_began_s.size() != transfers ||
      state.transfer_ended_s.size() != transfers) {
    return InvalidState("it must have one entry a transfer, ", transfers);
  }
  if (!state.gone.empty() && state.gone.size() != workers) {
    return InvalidState("gone must be empty or have one entry a worker, ", workers);
  }
  if (!(state.now_s >= 0 && state.now_s <= kPlanValueMax)) {
    return InvalidState("now_s must be between 0 and 1e100, is ", state.now_s);
  }
  return absl::OkStatus();
}

absl::Status CheckTimesOf(const char* kind, std::size_t index, WorkState work, Seconds began_s,
                          Seconds ended_s) {
  const bool begun = work != WorkState::kWaiting;
  const bool ended = work == WorkState::kDone;
  if (begun != (began_s >= 0) || ended != (ended_s >= 0) || (ended && ended_s < began_s)) {
    return InvalidState(kind, " ", index, " began at ", began_s, " s and ended at ", ended_s,
                        " s, which is not what its state says (-1: not yet)");
  }
  return absl::OkStatus();
}

}  // namespace

PlanState NothingDone(const Plan& plan) {
  PlanState state;
  state.steps.assign(plan.steps.size(), WorkState::kWaiting);
  state.transfers.assign(plan.transfers.size(), WorkState::kWaiting);
  state.step_began_s.assign(plan.steps.size(), -1);
  state.step_ended_s.assign(plan.steps.size(), -1);
  state.transfer_began_s.assign(plan.transfers.size(), -1);
  state.transfer_ended_s.assign(plan.transfers.size(), -1);
  state.run_there.assign(plan.steps.size(), false);
  state.gone.assign(At(plan.network.num_workers), false);
  return state;
}

absl::Status CheckState(const Plan& plan, const PlanState& state) {
  if (absl::Status status = CheckSizes(plan, state); !status.ok()) return status;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (absl::Status status =
            CheckTimesOf("step", s, state.steps[s], state.step_began_s[s], state.step_ended_s[s]);
        !status.ok()) {
      return status;
    }
    if (state.run_there[s] && state.steps[s] != WorkState::kDone) {
      return InvalidState("step ", s, " has a run but is not done");
    }
    if (state.steps[s] != WorkState::kUnderWay) continue;
    for (const StepIndex before : plan.steps[s].after_steps) {
      if (state.steps[At(before)] != WorkState::kDone) {
        return InvalidState("step ", s, " has begun, but step ", before, " before it is not done");
      }
    }
    for (const TransferIndex before : plan.steps[s].after_transfers) {
      if (state.transfers[At(before)] != WorkState::kDone) {
        return InvalidState("step ", s, " has begun, but transfer ", before, " to it is not done");
      }
    }
  }
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    if (absl::Status status = CheckTimesOf("transfer", t, state.transfers[t],
                                           state.transfer_began_s[t], state.transfer_ended_s[t]);
        !status.ok()) {
      return status;
    }
    if (state.transfers[t] == WorkState::kUnderWay &&
        !state.run_there[At(plan.transfers[t].producer)]) {
      return InvalidState("transfer ", t, " is under way, but the run of step ",
                          plan.transfers[t].producer, " is not there");
    }
  }
  return absl::OkStatus();
}

}  // namespace weir::planner
