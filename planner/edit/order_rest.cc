#include "planner/edit/order_rest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "planner/edit/rest_plan.h"
#include "planner/order/lanes/order_by_lanes.h"
#include "planner/order/order_by_rates.h"
#include "planner/order/order_by_slack.h"
#include "planner/order/order_store.h"
#include "planner/order/planning_effort.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

/// Puts the write steps that are under way first, on different channels.
void BeginWithWritesUnderWay(const PlanState& state, Plan* rest) {
  std::vector<StepIndex> under_way;
  std::vector<std::size_t> channel_of;
  for (std::size_t c = 0; c < rest->store_order.size(); ++c) {
    for (const StepIndex step : rest->store_order[c]) {
      if (state.steps[At(step)] != WorkState::kUnderWay) continue;
      under_way.push_back(step);
      channel_of.push_back(c);
    }
  }
  for (auto& order : rest->store_order) {
    std::erase_if(order, [&](StepIndex s) { return state.steps[At(s)] == WorkState::kUnderWay; });
    std::stable_partition(order.begin(), order.end(),
                          [&](StepIndex s) { return state.steps[At(s)] == WorkState::kDone; });
  }
  std::vector<bool> taken(rest->store_order.size(), false);
  for (std::size_t i = 0; i < under_way.size(); ++i) {
    std::size_t channel = channel_of[i];
    if (taken[channel]) {
      channel =
          static_cast<std::size_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
    }
    if (channel == taken.size()) {
      if (taken.size() < At(rest->store_channels)) {
        taken.push_back(false);
        rest->store_order.emplace_back();
      } else {
        channel = channel_of[i];
      }
    }
    taken[channel] = true;
    auto& order = rest->store_order[channel];
    const auto first = std::find_if(order.begin(), order.end(), [&](StepIndex s) {
      return state.steps[At(s)] == WorkState::kWaiting;
    });
    order.insert(first, under_way[i]);
  }
}

absl::Status OrderWrites(const PlanState& state, Plan* rest) {
  if (rest->store_channels == 0) return absl::OkStatus();
  if (absl::Status status = OrderStore(rest->store_channels, rest); !status.ok()) return status;
  BeginWithWritesUnderWay(state, rest);
  return AdoptPrediction(rest);
}

/// Puts the first `under_way` transfers of the rest first in each list, in their order; says
/// whether they were not. Any order of what waits can follow them: they wait for nothing but each
/// other.
bool PutFirst(std::size_t under_way, std::vector<std::vector<TransferIndex>>* lists) {
  bool changed = false;
  for (std::vector<TransferIndex>& list : *lists) {
    const auto begun = [under_way](TransferIndex t) { return At(t) < under_way; };
    const auto end = std::find_if_not(list.begin(), list.end(), begun);
    if (std::none_of(end, list.end(), begun) && std::is_sorted(list.begin(), end)) continue;
    changed = true;
    std::sort(list.begin(), std::stable_partition(list.begin(), list.end(), begun));
  }
  return changed;
}

/// What is under way has its ports already. An order builder may let another go before it only
/// where two are under way at one port, the first of which is nearly done.
absl::Status KeepPortsUnderWay(std::size_t under_way, Plan* rest) {
  bool changed = PutFirst(under_way, &rest->send_order);
  changed = PutFirst(under_way, &rest->receive_order) || changed;
  for (auto& lanes : rest->channel_order) changed = PutFirst(under_way, &lanes) || changed;
  return changed ? AdoptPrediction(rest) : absl::OkStatus();
}

/// Puts the first `under_way` transfers of `before` together again and first, whatever was done to
/// them, and orders by the starts that were found.
absl::Status BeginWithTransfersUnderWay(const Plan& before, std::size_t under_way, Plan* rest) {
  const auto of_one_under_way = [&](const Transfer& piece) {
    return std::any_of(before.transfers.begin(),
                       before.transfers.begin() + static_cast<std::ptrdiff_t>(under_way),
                       [&](const Transfer& whole) {
                         return piece.producer == whole.producer &&
                                piece.consumer == whole.consumer && piece.offset >= whole.offset &&
                                piece.offset + piece.bytes <= whole.offset + whole.bytes &&
                                (piece.bytes > 0 || whole.bytes == 0);
                       });
  };
  std::vector<Transfer> transfers(
      before.transfers.begin(), before.transfers.begin() + static_cast<std::ptrdiff_t>(under_way));
  for (Transfer& transfer : transfers) transfer.start_s = 0;
  for (const Transfer& piece : rest->transfers) {
    if (!of_one_under_way(piece)) transfers.push_back(piece);
  }
  const auto bytes_of = [](const std::vector<Transfer>& all) {
    return std::accumulate(all.begin(), all.end(), Bytes{0},
                           [](Bytes sum, const Transfer& t) { return sum + t.bytes; });
  };
  if (bytes_of(transfers) != bytes_of(before.transfers)) {
    return absl::FailedPreconditionError("What is under way was joined with what is not");
  }
  rest->transfers = std::move(transfers);
  for (ComputeStep& step : rest->steps) step.after_transfers.clear();
  for (std::size_t t = 0; t < rest->transfers.size(); ++t) {
    rest->steps[At(rest->transfers[t].consumer)].after_transfers.push_back(
        static_cast<TransferIndex>(t));
  }
  if (absl::Status status = OrderByStart(rest); !status.ok()) return status;
  return KeepPortsUnderWay(under_way, rest);
}

/// Orders transfers and writes of a rest whose first `under_way` transfers are under way.
absl::Status OrderTransfers(OrderEffort effort, const PlanState& state, std::size_t under_way,
                            Plan* rest) {
  rest->summary.lower_bound_s = 0;
  rest->store_order.clear();
  const std::int32_t channels = std::exchange(rest->store_channels, 0);
  if (!IsOrdered(rest->transfer_order)) {
    absl::Status status = rest->port_lanes > 0    ? OrderRestByLanes(under_way, rest)
                          : rest->rates_over_time ? OrderByRatesOverTime(rest)
                          : rest->transfer_order == TransferOrder::kRates
                              ? OrderRestByRates(under_way, rest)
                              : OrderFetchAll(rest, rest->fetch_limit);
    rest->store_channels = channels;
    return status.ok() ? OrderWrites(state, rest) : status;
  }
  Plan other = *rest;
  absl::Status status = OrderByPriority(rest);
  if (status.ok()) status = KeepPortsUnderWay(under_way, rest);
  rest->store_channels = channels;
  if (status.ok()) status = OrderWrites(state, rest);
  if (!status.ok() || effort == OrderEffort::kList) return status;
  if (other.transfers.size() > static_cast<std::size_t>(kSlackTransfersMax)) return status;
  const Plan before = other;
  // Starts that it wants may contradict each other, or what is under way: then the list stays.
  status = OrderBySlack(&other,
                        std::min(kEditSlackWorkMax, SlackWorkFor(other, rest->summary.makespan_s)));
  if (status.ok() && under_way > 0) status = BeginWithTransfersUnderWay(before, under_way, &other);
  other.store_channels = channels;
  if (status.ok()) status = OrderWrites(state, &other);
  if (status.ok() && other.summary.makespan_s < rest->summary.makespan_s * (1 - kFinerGain)) {
    *rest = std::move(other);
  }
  return absl::OkStatus();
}

/// Writes the ordered rest back into the whole plan.
class RestJoined {
 public:
  RestJoined(const RestPlan& rest, std::size_t under_way, EditedPlan* edited)
      : rest_(rest),
        under_way_(under_way),
        edited_(edited),
        done_(static_cast<std::size_t>(std::count(
            edited->state.transfers.begin(), edited->state.transfers.end(), WorkState::kDone))) {}

  absl::StatusOr<Prediction> Join() {
    const absl::StatusOr<Prediction> of_rest = Predict(rest_.plan);
    if (!of_rest.ok()) return of_rest.status();
    JoinTransfers();
    JoinOrders();
    Prediction times = Times(*of_rest);
    Plan& plan = edited_->plan;
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      plan.steps[s].start_s = times.steps[s].start_s;
      if (edited_->state.steps[s] != WorkState::kDone) continue;
      plan.steps[s].duration_s = times.steps[s].finish_s - times.steps[s].start_s;
      // It may have been done in less than was planned for that alone.
      plan.steps[s].spill_s = std::min(plan.steps[s].spill_s, plan.steps[s].duration_s);
    }
    for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
      Transfer& transfer = plan.transfers[t];
      transfer.start_s = times.transfers[t].start_s;
      // What is under way keeps the time that it was given: RestOf counts on it.
      const bool under_way = edited_->state.transfers[t] == WorkState::kUnderWay;
      if (under_way && !plan.rates_over_time) continue;
      transfer.duration_s = times.transfers[t].finish_s - times.transfers[t].start_s;
      if (plan.rates_over_time && t >= done_) JoinRates(rest_.plan.transfers[t - done_], &transfer);
    }
    plan.summary.makespan_s = times.makespan_s;
    plan.summary.lower_bound_s = 0;
    return times;
  }

 private:
  /// Rates over time: those that the rest of a transfer has from now on. Until then what is under
  /// way had the one at which that much is left (RestOf); no rate flows before StartSeconds.
  void JoinRates(const Transfer& rest, Transfer* transfer) const {
    const Seconds now_s = edited_->state.now_s;
    const Seconds flows_s = now_s + StartSeconds(edited_->plan);
    std::vector<RateChange> rates{{now_s, rest.rate_bytes_per_s}};
    for (RateChange change : rest.rate_changes) {
      change.at_s += now_s;
      rates.push_back(change);
    }
    const bool under_way = transfer->start_s < now_s;
    if (under_way) {
      while (rates.size() > 1 && rates[1].at_s <= flows_s) rates.erase(rates.begin());
      rates.front().at_s = flows_s;
      const double lag = edited_->plan.network.Lag(transfer->sender, transfer->receiver);
      const double moved = lag * static_cast<double>(transfer->bytes - rest.bytes);
      rates.insert(rates.begin(), {transfer->start_s,
                                   std::max(moved / (now_s - transfer->start_s), kPlanValueMin)});
    }
    transfer->rate_bytes_per_s = rates.front().bytes_per_s;
    transfer->rate_changes.assign(rates.begin() + 1, rates.end());
  }

  void JoinTransfers() {
    Plan& plan = edited_->plan;
    PlanState& state = edited_->state;
    const std::size_t begun = done_ + under_way_;
    for (std::size_t s = 0; s < plan.steps.size(); ++s) {
      std::erase_if(plan.steps[s].after_transfers, [&](TransferIndex t) { return At(t) >= begun; });
    }
    plan.transfers.resize(begun);
    plan.transfers.insert(plan.transfers.end(),
                          rest_.plan.transfers.begin() + static_cast<std::ptrdiff_t>(under_way_),
                          rest_.plan.transfers.end());
    for (std::size_t t = begun; t < plan.transfers.size(); ++t) {
      plan.steps[At(plan.transfers[t].consumer)].after_transfers.push_back(
          static_cast<TransferIndex>(t));
    }
    edited_->transfer_was.resize(plan.transfers.size(), kNoIndex);
    state.transfers.resize(plan.transfers.size(), WorkState::kWaiting);
    state.transfer_began_s.resize(plan.transfers.size(), -1);
    state.transfer_ended_s.resize(plan.transfers.size(), -1);
  }

  void Append(const std::vector<std::vector<TransferIndex>>& from,
              std::vector<std::vector<TransferIndex>>* to) const {
    if (to->size() < from.size()) to->resize(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      for (const TransferIndex t : from[i]) {
        (*to)[i].push_back(t + static_cast<TransferIndex>(done_));
      }
    }
  }

  void JoinOrders() {
    Plan& plan = edited_->plan;
    Append(rest_.plan.send_order, &plan.send_order);
    Append(rest_.plan.receive_order, &plan.receive_order);
    plan.channel_order.resize(plan.network.cuts.size());
    for (std::size_t cut = 0; cut < plan.channel_order.size(); ++cut) {
      Append(rest_.plan.channel_order[cut], &plan.channel_order[cut]);
    }
    plan.store_order = rest_.plan.store_order;
  }

  Prediction Times(const Prediction& of_rest) const {
    const PlanState& state = edited_->state;
    Prediction times;
    const auto from_now = [&](const Interval& interval) {
      return Interval{state.now_s + interval.start_s, state.now_s + interval.finish_s};
    };
    for (std::size_t s = 0; s < state.steps.size(); ++s) {
      Interval interval = from_now(of_rest.steps[s]);
      if (state.steps[s] != WorkState::kWaiting) interval.start_s = state.step_began_s[s];
      if (state.steps[s] == WorkState::kDone) interval.finish_s = state.step_ended_s[s];
      times.steps.push_back(interval);
      times.makespan_s = std::max(times.makespan_s, interval.finish_s);
    }
    for (std::size_t t = 0; t < state.transfers.size(); ++t) {
      Interval interval{state.transfer_began_s[t], state.transfer_ended_s[t]};
      if (t >= done_) interval = from_now(of_rest.transfers[t - done_]);
      if (state.transfers[t] == WorkState::kUnderWay) interval.start_s = state.transfer_began_s[t];
      times.transfers.push_back(interval);
      times.makespan_s = std::max(times.makespan_s, interval.finish_s);
    }
    for (Prediction::CriticalItem item : of_rest.critical_path) {
      if (item.is_transfer)
        item.index += static_cast<TransferIndex>(done_);
      else if (state.steps[At(item.index)] == WorkState::kDone)
        continue;
      times.critical_path.push_back(item);
    }
    times.idle_s = of_rest.idle_s;
    return times;
  }

  const RestPlan& rest_;
  const std::size_t under_way_;
  EditedPlan* edited_;
  const std::size_t done_;
};

}  // namespace

absl::StatusOr<Prediction> OrderRest(OrderEffort effort, EditedPlan* edited) {
  RestPlan rest = RestOf(edited->plan, edited->state);
  const auto under_way = static_cast<std::size_t>(std::count(
      edited->state.transfers.begin(), edited->state.transfers.end(), WorkState::kUnderWay));
  absl::Status status = OrderTransfers(effort, edited->state, under_way, &rest.plan);
  if (!status.ok()) return status;
  return RestJoined(rest, under_way, edited).Join();
}

}  // namespace weir::planner
