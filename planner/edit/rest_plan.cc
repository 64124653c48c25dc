#include "planner/edit/rest_plan.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "planner/plan/units.h"

namespace weir::planner {
namespace {

constexpr double kByteRounding = 1e-3;

double SecondsPerByte(const Plan& plan, const Transfer& transfer) {
  const NetworkModel& network = plan.network;
  switch (plan.transfer_order) {
    case TransferOrder::kFetchAll:
      return network.SecondsPerByte(transfer.sender, transfer.receiver);
    case TransferOrder::kRates:
      return transfer.rate_bytes_per_s > 0
                 ? network.Lag(transfer.sender, transfer.receiver) / transfer.rate_bytes_per_s
                 : 0;
    case TransferOrder::kStrict:
    case TransferOrder::kOvertake:
      break;
  }
  return network.PacedSecondsPerByte(transfer.sender, transfer.receiver);
}

/// Rates over time: what is left StartSeconds from now, which the rest of it takes before it flows.
/// By its planned rates since it began.
Bytes BytesLeftOverTime(const Plan& plan, const Transfer& transfer, Seconds began_s,
                        Seconds now_s) {
  const double lag = plan.network.Lag(transfer.sender, transfer.receiver);
  double left = lag * static_cast<double>(transfer.bytes);
  double rate = transfer.rate_bytes_per_s;
  Seconds at_s = began_s + StartSeconds(plan);
  const Seconds until_s = now_s + StartSeconds(plan);
  for (const RateChange& change : transfer.rate_changes) {
    const Seconds change_s = began_s + change.at_s - transfer.start_s;
    if (change_s >= until_s) break;
    left -= std::max(0.0, change_s - at_s) * rate;
    at_s = std::max(at_s, change_s);
    rate = change.bytes_per_s;
  }
  left -= std::max(0.0, until_s - at_s) * rate;
  // Of what an edit made of whole bytes, the same bytes.
  return std::max<Bytes>(0, static_cast<Bytes>(std::ceil(left / lag - kByteRounding)));
}

/// Bytes whose transfer takes what this one, which is under way, still needs.
Bytes BytesLeft(const Plan& plan, const Transfer& transfer, Seconds began_s, Seconds now_s) {
  if (plan.rates_over_time) return BytesLeftOverTime(plan, transfer, began_s, now_s);
  const Seconds left_s = began_s + transfer.duration_s - now_s - StartSeconds(plan);
  const double per_byte = SecondsPerByte(plan, transfer);
  if (left_s <= 0) return 0;
  if (per_byte <= 0 || left_s / per_byte >= static_cast<double>(transfer.bytes)) {
    return transfer.bytes;
  }
  return std::llround(left_s / per_byte);
}

void SetRestSteps(const PlanState& state, Plan* rest) {
  for (std::size_t s = 0; s < rest->steps.size(); ++s) {
    ComputeStep& step = rest->steps[s];
    step.after_transfers.clear();
    step.start_s = std::max(0.0, step.start_s - state.now_s);
    if (state.steps[s] == WorkState::kWaiting) {
      step.release_s = std::max(0.0, step.release_s - state.now_s);
      continue;
    }
    step.after_steps.clear();
    step.release_s = step.start_s = 0;
    const Seconds left_s = state.step_began_s[s] + step.duration_s - state.now_s;
    step.duration_s = state.steps[s] == WorkState::kDone ? 0 : std::max(0.0, left_s);
    step.spill_s = std::min(step.spill_s, step.duration_s);
  }
}

class RestOrders {
 public:
  RestOrders(const Plan& whole, const RestPlan& rest) : now_(whole.transfers.size(), kNoIndex) {
    for (std::size_t t = 0; t < rest.transfer_of.size(); ++t) {
      now_[At(rest.transfer_of[t])] = static_cast<TransferIndex>(t);
    }
  }

  void Keep(std::vector<std::vector<TransferIndex>>* lists) const {
    for (std::vector<TransferIndex>& list : *lists) {
      for (TransferIndex& t : list) t = At(t) < now_.size() ? now_[At(t)] : kNoIndex;
      std::erase(list, kNoIndex);
    }
  }

 private:
  std::vector<TransferIndex> now_;  // by transfer of the whole plan
};

}  // namespace

RestPlan RestOf(const Plan& plan, const PlanState& state) {
  RestPlan rest;
  rest.plan = plan;
  SetRestSteps(state, &rest.plan);
  rest.plan.transfers.clear();
  for (const WorkState wanted : {WorkState::kUnderWay, WorkState::kWaiting}) {
    for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
      if (state.transfers[t] != wanted) continue;
      Transfer transfer = plan.transfers[t];
      transfer.start_s = std::max(0.0, transfer.start_s - state.now_s);
      transfer.rate_changes.clear();
      if (wanted == WorkState::kUnderWay) {
        transfer.bytes = BytesLeft(plan, transfer, state.transfer_began_s[t], state.now_s);
        transfer.start_s = 0;
        transfer.duration_s =
            plan.rates_over_time
                ? std::max(0.0, state.transfer_began_s[t] + transfer.duration_s - state.now_s)
                : StartSeconds(plan) +
                      static_cast<double>(transfer.bytes) * SecondsPerByte(plan, transfer);
      }
      rest.plan.steps[At(transfer.consumer)].after_transfers.push_back(
          static_cast<TransferIndex>(rest.plan.transfers.size()));
      rest.plan.transfers.push_back(transfer);
      rest.transfer_of.push_back(static_cast<TransferIndex>(t));
    }
  }
  const RestOrders orders(plan, rest);
  orders.Keep(&rest.plan.send_order);
  orders.Keep(&rest.plan.receive_order);
  for (auto& lanes : rest.plan.channel_order) orders.Keep(&lanes);
  rest.plan.summary.makespan_s = std::max(0.0, plan.summary.makespan_s - state.now_s);
  rest.plan.summary.lower_bound_s = 0;
  return rest;
}

}  // namespace weir::planner
