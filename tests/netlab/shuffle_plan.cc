#include "tests/netlab/shuffle_plan.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "planner/order/coalesce.h"
#include "planner/order/lanes/order_by_lanes.h"
#include "planner/order/order_bound.h"
#include "planner/order/order_by_rates.h"
#include "planner/order/order_by_slack.h"
#include "planner/order/planning_effort.h"
#include "planner/order/transfer_orders.h"

namespace weir::netlab {
namespace {

using planner::Bytes;
using planner::ComputeStep;
using planner::Plan;
using planner::StepIndex;
using planner::StepKind;

absl::Status CheckRequest(const ShuffleRequest& request) {
  const auto n = static_cast<std::size_t>(request.network.num_workers);
  const bool square = request.bytes.size() == n && request.ready_s.size() == n &&
                      std::all_of(request.bytes.begin(), request.bytes.end(),
                                  [n](const auto& row) { return row.size() == n; });
  if (!square || n == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "bytes and ready_s must have one row and one entry for each of ", n, " workers"));
  }
  return planner::CheckNetwork(request.network);
}

/// Mappers are steps 0 .. n-1, reducers n .. 2n-1, one of each on every worker.
void AddSteps(const ShuffleRequest& request, Plan& plan) {
  const auto n = static_cast<std::size_t>(request.network.num_workers);
  std::vector<Bytes> received(n, 0);
  for (std::size_t j = 0; j < n; ++j) {
    ComputeStep step;
    step.kind = StepKind::kMap;
    step.index_in_layer = static_cast<std::int32_t>(j);
    step.worker = static_cast<std::int32_t>(j);
    step.input_begin = static_cast<Bytes>(j) * request.record_bytes;
    step.input_bytes = request.record_bytes;
    step.input_end = step.input_begin + request.record_bytes;
    step.duration_s = request.ready_s[j];
    for (std::size_t k = 0; k < n; ++k) {
      step.output_bytes += request.bytes[j][k];
      received[k] += request.bytes[j][k];
    }
    plan.steps.push_back(step);
  }
  const double total = std::max(
      1.0, static_cast<double>(std::accumulate(received.begin(), received.end(), Bytes{0})));
  double key = 0;
  for (std::size_t k = 0; k < n; ++k) {
    ComputeStep step;
    step.kind = StepKind::kReduce;
    step.layer = 1;
    step.index_in_layer = static_cast<std::int32_t>(k);
    step.worker = static_cast<std::int32_t>(k);
    step.input_bytes = received[k];
    step.load_fraction = static_cast<double>(received[k]) / total;
    step.key_begin = key;
    key = k + 1 == n ? 1.0 : key + step.load_fraction;
    step.key_end = key;
    step.duration_s = request.reduce_s;
    step.after_steps = {static_cast<StepIndex>(k)};
    plan.steps.push_back(step);
    plan.compute_order.push_back({static_cast<StepIndex>(k), static_cast<StepIndex>(n + k)});
  }
}

/// One transfer a section, or several of equal size; in rotation order.
void AddTransfers(const ShuffleRequest& request, Plan& plan) {
  const auto n = request.network.num_workers;
  for (std::int32_t round = 0; round < n; ++round) {
    for (std::int32_t j = 0; j < n; ++j) {
      const std::int32_t k = (j + round) % n;
      const Bytes bytes = request.bytes[static_cast<std::size_t>(j)][static_cast<std::size_t>(k)];
      plan.sections.push_back({j, n + k, bytes});
      if (j == k) continue;
      const Bytes most = request.piece_bytes_max > 0 ? request.piece_bytes_max : bytes;
      const Bytes pieces = bytes == 0 ? 1 : (bytes + most - 1) / most;
      for (Bytes p = 0; p < pieces; ++p) {
        planner::Transfer transfer;
        transfer.producer = j;
        transfer.consumer = n + k;
        transfer.sender = j;
        transfer.receiver = k;
        transfer.offset = bytes * p / pieces;
        transfer.bytes = bytes * (p + 1) / pieces - transfer.offset;
        plan.steps[static_cast<std::size_t>(n + k)].after_transfers.push_back(
            static_cast<planner::TransferIndex>(plan.transfers.size()));
        plan.transfers.push_back(transfer);
      }
    }
  }
}

absl::Status OrderInTurns(Plan& plan, planner::Seconds shortest_s) {
  const absl::StatusOr<planner::Seconds> bound_s = planner::OrderBound(plan);
  if (!bound_s.ok()) return bound_s.status();
  return planner::OrderBySlack(&plan, planner::SlackWorkFor(plan, *bound_s), shortest_s);
}

/// What the planner of jobs does with a shuffle: in order, or by rates or fetched from all senders
/// at once where that is predicted to end earlier, with what a network that is known reckons for
/// each.
absl::Status OrderAsJobsAre(Plan& plan) {
  const Plan whole = plan;
  planner::CoalescePieces(planner::kShortestGrantS, &plan);
  const Plan coalesced = plan;
  if (absl::Status ordered = OrderInTurns(plan, planner::kShortestGrantS); !ordered.ok())
    return ordered;
  const Plan ordered = plan;
  Plan together = whole;
  if (absl::Status fetched = planner::OrderFetchAll(&together); !fetched.ok()) return fetched;
  if (plan.network.sharing_resent_fraction <= planner::kResentMax &&
      together.summary.makespan_s < plan.summary.makespan_s * (1 - planner::kFinerGain)) {
    plan = std::move(together);
  }
  for (const auto& by_rates : {planner::OrderByRates, planner::OrderByRatesOverTime}) {
    Plan rated = coalesced;  // jobs move no pieces beside each other, which are sockets each
    const absl::Status status = by_rates(&rated);
    if (status.ok() && plan.network.sharing_resent_fraction <= planner::kResentMax &&
        rated.summary.makespan_s < plan.summary.makespan_s * (1 - planner::kRatesReserve)) {
      plan = std::move(rated);
    }
    // Too many at once for that: what is best so far stands.
    if (!status.ok() && !absl::IsFailedPrecondition(status)) return status;
  }
  const bool may_be_laned = plan.network.transfer_gap_s > 0 &&
                            plan.network.sharing_resent_fraction <= planner::kResentMax;
  std::optional<Plan> laned =
      may_be_laned ? planner::BestLanes(ordered, plan.summary.makespan_s) : std::nullopt;
  if (laned) plan = *std::move(laned);
  return absl::OkStatus();
}

/// As jobs are ordered, then with so many transfers of a port at a time.
absl::Status OrderInLanes(std::int32_t lanes, Plan& plan) {
  planner::CoalescePieces(planner::kShortestGrantS, &plan);
  if (absl::Status ordered = OrderInTurns(plan, planner::kShortestGrantS); !ordered.ok())
    return ordered;
  return planner::OrderByLanes(lanes, &plan).status();
}

absl::Status OrderTransfers(const ShuffleRequest& request, Plan& plan) {
  absl::string_view method = request.method;
  if (method == "planned") return OrderAsJobsAre(plan);
  if (method == "planned-pieces") return OrderInTurns(plan, 0);
  if (method == "rotation") return planner::OrderByPriority(&plan);
  if (method == "rates") return planner::OrderByRates(&plan);
  if (method == "rates-over-time") return planner::OrderByRatesOverTime(&plan);
  if (method == "fetch-all") return planner::OrderFetchAll(&plan);
  std::int32_t limit = 0;
  if (absl::ConsumePrefix(&method, "lanes-") && absl::SimpleAtoi(method, &limit) && limit > 0) {
    return OrderInLanes(limit, plan);
  }
  if (absl::ConsumePrefix(&method, "fetch-") && absl::SimpleAtoi(method, &limit) && limit > 0) {
    return planner::OrderFetchAll(&plan, limit);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown method '", request.method,
      "'; methods are: planned, planned-pieces, rotation, rates, rates-over-time, lanes-N "
      "(1: in order), "
      "fetch-all, fetch-N"));
}

}  // namespace

absl::StatusOr<Plan> PlanShuffle(const ShuffleRequest& request) {
  if (absl::Status sound = CheckRequest(request); !sound.ok()) return sound;
  Plan plan;
  plan.network = request.network;
  plan.network.pacing_fraction = request.pacing_fraction;
  if (plan.network.sharing_fraction <= 0) {
    plan.network.sharing_fraction = master::MasterOptions().sharing_fraction;
  }
  AddSteps(request, plan);
  AddTransfers(request, plan);
  const absl::StatusOr<planner::Seconds> bound_s = planner::OrderBound(plan);
  if (!bound_s.ok()) return bound_s.status();
  if (absl::Status ordered = OrderTransfers(request, plan); !ordered.ok()) return ordered;
  plan.summary.method = request.method;
  if (planner::IsOrdered(plan.transfer_order)) {
    plan.summary.lower_bound_s = std::min(*bound_s, plan.summary.makespan_s);
  }
  return plan;
}

}  // namespace weir::netlab
