#include "planner/edit/check_rest.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "planner/edit/rest_plan.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/plan_structure.h"
#include "planner/plan/plan_times.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

constexpr double kTimeTolerance = 1e-9;

absl::Status CheckFirst(const std::vector<std::vector<std::int32_t>>& lists,
                        const std::vector<WorkState>& states, const char* what) {
  for (const std::vector<std::int32_t>& list : lists) {
    bool waits = false;
    for (const std::int32_t item : list) {
      if (item < 0 || At(item) >= states.size()) return Invalid("No such ", what, ": ", item);
      const bool begun = states[At(item)] != WorkState::kWaiting;
      if (begun && waits) {
        return Invalid("The ", what, " ", item, " has begun, but stands behind one that waits");
      }
      waits = waits || !begun;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOrders(const Plan& plan, const PlanState& state) {
  absl::Status status = CheckFirst(plan.compute_order, state.steps, "step");
  if (status.ok()) status = CheckFirst(plan.store_order, state.steps, "write step");
  if (status.ok()) status = CheckFirst(plan.send_order, state.transfers, "transfer");
  if (status.ok()) status = CheckFirst(plan.receive_order, state.transfers, "transfer");
  for (std::size_t cut = 0; status.ok() && cut < plan.channel_order.size(); ++cut) {
    status = CheckFirst(plan.channel_order[cut], state.transfers, "transfer");
  }
  return status;
}

/// Holds planned starts and the makespan against those of the rest, whose times are predicted.
absl::Status CheckPlannedTimes(const Plan& plan, const PlanState& state, const RestPlan& rest) {
  Seconds last_s = 0;
  const auto check = [&](const char* kind, std::size_t index, Seconds planned_s, WorkState work,
                         const auto& left) -> absl::Status {
    const Seconds start_s = state.now_s + left.start_s;
    const Seconds finish_s = start_s + left.duration_s;
    last_s = std::max(last_s, finish_s);
    if (work != WorkState::kWaiting || std::abs(planned_s - start_s) <= kTimeTolerance * finish_s) {
      return absl::OkStatus();
    }
    return Invalid(kind, index, " is planned to start at ", planned_s, " s, but can start at ",
                   start_s, " s");
  };
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (state.steps[s] == WorkState::kDone) continue;
    absl::Status status =
        check("Step ", s, plan.steps[s].start_s, state.steps[s], rest.plan.steps[s]);
    if (!status.ok()) return status;
  }
  for (std::size_t t = 0; t < rest.transfer_of.size(); ++t) {
    const auto whole = At(rest.transfer_of[t]);
    absl::Status status = check("Transfer ", whole, plan.transfers[whole].start_s,
                                state.transfers[whole], rest.plan.transfers[t]);
    if (!status.ok()) return status;
  }
  for (const Seconds ended_s : state.step_ended_s) last_s = std::max(last_s, ended_s);
  for (const Seconds ended_s : state.transfer_ended_s) last_s = std::max(last_s, ended_s);
  if (std::abs(plan.summary.makespan_s - last_s) <= kTimeTolerance * last_s) {
    return absl::OkStatus();
  }
  return Invalid("The edit says that it ends at ", plan.summary.makespan_s, " s; it ends at ",
                 last_s, " s");
}

}  // namespace

absl::Status CheckRest(const Plan& plan, const PlanState& state) {
  if (absl::Status status = CheckOrders(plan, state); !status.ok()) return status;
  RestPlan rest = RestOf(plan, state);
  if (absl::Status status = CheckStructure(rest.plan); !status.ok()) return status;
  if (absl::Status status = AdoptPrediction(&rest.plan); !status.ok()) return status;
  if (absl::Status status = CheckTimes(rest.plan); !status.ok()) return status;
  return CheckPlannedTimes(plan, state, rest);
}

}  // namespace weir::planner
