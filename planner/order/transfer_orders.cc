// Upstream: builders. Downstream: predict. List scheduling has its own file, order_by_priority.cc.

#include "planner/order/transfer_orders.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/plan/cut_lanes.h"
#include "planner/plan/plan_structure.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {
namespace {

void OrderSteps(Plan* plan) {
  const auto num_workers = static_cast<std::size_t>(plan->network.num_workers);
  plan->compute_order.assign(num_workers, {});
  std::vector<StepIndex> by_start(plan->steps.size());
  std::iota(by_start.begin(), by_start.end(), 0);
  std::sort(by_start.begin(), by_start.end(), [&](StepIndex a, StepIndex b) {
    const ComputeStep& left = plan->steps[static_cast<std::size_t>(a)];
    const ComputeStep& right = plan->steps[static_cast<std::size_t>(b)];
    return std::tie(left.start_s, left.layer, a) < std::tie(right.start_s, right.layer, b);
  });
  for (const StepIndex step : by_start) {
    const auto worker =
        static_cast<std::size_t>(plan->steps[static_cast<std::size_t>(step)].worker);
    if (worker < num_workers) plan->compute_order[worker].push_back(step);
  }
}

// Deals the transfers that cross `cut` to its lanes, in the order given.
std::vector<std::vector<TransferIndex>> DealToLanes(const Plan& plan, const CutLanes& lanes,
                                                    const Cut& cut,
                                                    const std::vector<TransferIndex>& order) {
  using FreeAt = std::pair<Seconds, std::size_t>;
  std::priority_queue<FreeAt, std::vector<FreeAt>, std::greater<>> free_at;
  std::vector<std::vector<TransferIndex>> orders;  // of the lanes in use
  std::vector<std::size_t> taken;
  for (const TransferIndex index : order) {
    const Transfer& transfer = plan.transfers[static_cast<std::size_t>(index)];
    if (!cut.Crosses(transfer.sender, transfer.receiver)) continue;
    Seconds start_s = transfer.start_s;
    taken.clear();
    for (std::int32_t i = 0; i < lanes.Taken(transfer.sender, transfer.receiver); ++i) {
      const bool all_busy = free_at.empty() || free_at.top().first > transfer.start_s;
      if (all_busy && static_cast<std::int64_t>(orders.size()) < lanes.Of(cut)) {
        taken.push_back(orders.size());
        orders.emplace_back();
      } else {
        start_s = std::max(start_s, free_at.top().first);
        taken.push_back(free_at.top().second);
        free_at.pop();
      }
    }
    const Seconds until_s =
        start_s + plan.network.TransferSeconds(transfer.sender, transfer.receiver, transfer.bytes);
    for (const std::size_t lane : taken) {
      orders[lane].push_back(index);
      free_at.push({until_s, lane});
    }
  }
  return orders;
}

void FillPortOrders(const std::vector<TransferIndex>& order, Plan* plan) {
  const auto num_workers = static_cast<std::size_t>(plan->network.num_workers);
  plan->send_order.assign(num_workers, {});
  plan->receive_order.assign(num_workers, {});
  for (const TransferIndex index : order) {
    const Transfer& transfer = plan->transfers[static_cast<std::size_t>(index)];
    plan->send_order[static_cast<std::size_t>(transfer.sender)].push_back(index);
    plan->receive_order[static_cast<std::size_t>(transfer.receiver)].push_back(index);
  }
}

std::vector<TransferIndex> AllTransfers(const Plan& plan) {
  std::vector<TransferIndex> all(plan.transfers.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

absl::Status OrderByStart(Plan* plan) {
  if (absl::Status status = CheckItems(*plan); !status.ok()) return status;
  if (plan->compute_order.empty()) OrderSteps(plan);
  std::vector<TransferIndex> order = AllTransfers(*plan);
  std::sort(order.begin(), order.end(), [&](TransferIndex a, TransferIndex b) {
    return std::tie(plan->transfers[static_cast<std::size_t>(a)].start_s, a) <
           std::tie(plan->transfers[static_cast<std::size_t>(b)].start_s, b);
  });
  FillPortOrders(order, plan);
  plan->channel_order.clear();
  const CutLanes lanes(plan->network);
  for (const Cut& cut : plan->network.cuts) {
    plan->channel_order.push_back(DealToLanes(*plan, lanes, cut, order));
  }
  return AdoptPrediction(plan);
}

void ListUnordered(Plan* plan) {
  FillPortOrders(AllTransfers(*plan), plan);
  plan->channel_order.assign(plan->network.cuts.size(), {});
  plan->summary.lower_bound_s = 0;
}

absl::Status OrderFetchAll(Plan* plan, std::int32_t fetch_limit) {
  plan->transfer_order = TransferOrder::kFetchAll;
  plan->fetch_limit = fetch_limit;
  if (absl::Status status = CheckItems(*plan); !status.ok()) return status;
  ListUnordered(plan);
  return AdoptPrediction(plan);
}

absl::Status AdoptPrediction(Plan* plan) {
  const absl::StatusOr<Prediction> prediction = Predict(*plan);
  if (!prediction.ok()) return prediction.status();
  for (std::size_t i = 0; i < plan->steps.size(); ++i) {
    plan->steps[i].start_s = prediction->steps[i].start_s;
  }
  for (std::size_t i = 0; i < plan->transfers.size(); ++i) {
    const Interval& interval = prediction->transfers[i];
    plan->transfers[i].start_s = interval.start_s;
    plan->transfers[i].duration_s = interval.finish_s - interval.start_s;
    if (prediction->transfer_rates.empty()) continue;
    const std::vector<RateChange>& rates = prediction->transfer_rates[i];
    plan->transfers[i].rate_bytes_per_s = rates.front().bytes_per_s;
    plan->transfers[i].rate_changes.assign(rates.begin() + 1, rates.end());
  }
  plan->summary.makespan_s = prediction->makespan_s;
  return absl::OkStatus();
}

}  // namespace weir::planner
