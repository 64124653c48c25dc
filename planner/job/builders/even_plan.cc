#include "planner/job/builders/even_plan.h"

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/job/check_job.h"
#include "planner/job/job_drafts.h"
#include "planner/job/map_chunks.h"
#include "planner/job/store_steps.h"
#include "planner/order/lanes/order_by_lanes.h"
#include "planner/order/order_bound.h"
#include "planner/order/order_by_rates.h"
#include "planner/order/order_by_slack.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"

namespace weir::planner {

namespace {

/// The even split with its pieces in rotation order, not yet ordered.
absl::StatusOr<Plan> SplitEvenly(const JobShape& shape, const ClusterProfile& cluster) {
  const std::int32_t num_workers = cluster.network.num_workers;
  const std::vector<Bytes> chunks = EvenChunks(shape, num_workers);
  const auto num_mappers = static_cast<std::int32_t>(chunks.size());
  PlanAssembly assembly(cluster.network);
  const absl::StatusOr<std::vector<MapperDraft>> mappers =
      DraftMappers(shape, cluster, chunks, WorkersInTurn(num_mappers, num_workers));
  if (!mappers.ok()) return mappers.status();
  if (absl::Status status = assembly.AddMappers(*mappers); !status.ok()) return status;
  std::int32_t num_producers = num_mappers;
  LayerDraft reducers;  // of the layer added last
  for (std::size_t p = 0; p < shape.layers.size(); ++p) {
    const LayerShape& layer = shape.layers[p];
    const std::int32_t num_reducers = layer.num_reducers > 0 ? layer.num_reducers : num_workers;
    if (std::int64_t{num_producers} * num_reducers > kPairsMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Too many pairs in one layer: ", num_producers, " producers times ", num_reducers,
          " reducers; at most ", kPairsMax, " pairs; ask for fewer mappers or reducers"));
    }
    const std::vector<double> fractions(static_cast<std::size_t>(num_reducers), 1.0 / num_reducers);
    reducers = DraftReducers(shape, p, static_cast<std::size_t>(num_producers), cluster, fractions,
                             WorkersInTurn(num_reducers, num_workers));
    absl::Status status =
        assembly.AddReducers(reducers, RotationPieces(num_producers, num_reducers));
    if (!status.ok()) return status;
    num_producers = num_reducers;
  }
  if (absl::Status status = AddStoreSteps(shape.store, reducers, 0, assembly); !status.ok()) {
    return status;
  }
  return assembly.TakePlan();
}

/// Orders the write steps of a plan whose transfers are ordered, and adds name and bound.
absl::StatusOr<Plan> Finished(const JobShape& shape, Plan plan, std::string method) {
  if (absl::Status status = LimitStore(shape.store, plan); !status.ok()) return status;
  const absl::StatusOr<Seconds> bound_s = OrderBound(plan);
  if (!bound_s.ok()) return bound_s.status();
  plan.summary.method = std::move(method);
  plan.summary.lower_bound_s = *bound_s;
  return plan;
}

absl::Status CheckRateIsKnown(const char* method, const ClusterProfile& cluster) {
  if (cluster.network.pacing_fraction > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Plan method ", method,
      " paces every transfer at its share of the channel rate, and none is known or nothing is "
      "sent: run weir calibrate, or give --channel-rate or --network (and no --pacing-fraction 0). "
      "Workers of one host, as those of weir run, hand files over and have nothing to pace: leave "
      "--method out"));
}

/// Gives an ordered plan `port_lanes` lanes, or as many as are predicted best.
absl::Status AddLanes(std::int32_t port_lanes, Plan* plan) {
  if (port_lanes > 0) return OrderByLanes(port_lanes, plan).status();
  Plan at_once = *plan;
  const absl::Status rated = OrderByRates(&at_once);
  std::optional<Plan> best = BestLanes(
      *plan, rated.ok() ? at_once.summary.makespan_s : std::numeric_limits<double>::infinity());
  if (!best && !rated.ok()) return rated;
  *plan = best ? *std::move(best) : std::move(at_once);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Plan> EvenPlan(const JobShape& shape, const ClusterProfile& cluster) {
  absl::StatusOr<Plan> plan = SplitEvenly(shape, cluster);
  if (!plan.ok()) return plan;
  if (absl::Status status = OrderByPriority(&*plan); !status.ok()) return status;
  return Finished(shape, *std::move(plan), "even");
}

absl::StatusOr<Plan> FetchAllPlan(const JobShape& shape, const ClusterProfile& cluster,
                                  std::int32_t fetch_limit) {
  absl::StatusOr<Plan> plan = SplitEvenly(shape, cluster);
  if (!plan.ok()) return plan;
  if (absl::Status status = OrderFetchAll(&*plan, fetch_limit); !status.ok()) return status;
  return Finished(shape, *std::move(plan),
                  fetch_limit > 0 ? absl::StrCat("fetch-", fetch_limit) : "fetch-all");
}

absl::StatusOr<Plan> RatesPlan(const JobShape& shape, const ClusterProfile& cluster, Rates rates) {
  const bool over_time = rates == Rates::kOverTime;
  const char* method = over_time ? "rates-over-time" : "rates";
  if (absl::Status known = CheckRateIsKnown(method, cluster); !known.ok()) return known;
  absl::StatusOr<Plan> plan = SplitEvenly(shape, cluster);
  if (!plan.ok()) return plan;
  const absl::Status rated = over_time ? OrderByRatesOverTime(&*plan) : OrderByRates(&*plan);
  if (absl::IsFailedPrecondition(rated)) return absl::InvalidArgumentError(rated.message());
  if (!rated.ok()) return rated;
  return Finished(shape, *std::move(plan), method);
}

absl::StatusOr<Plan> LanesPlan(const JobShape& shape, const ClusterProfile& cluster,
                               std::int32_t port_lanes) {
  if (absl::Status known = CheckRateIsKnown("lanes", cluster); !known.ok()) return known;
  absl::StatusOr<Plan> plan = SplitEvenly(shape, cluster);
  if (!plan.ok()) return plan;
  const absl::StatusOr<Seconds> bound_s = OrderBound(*plan);
  if (!bound_s.ok()) return bound_s.status();
  absl::Status status = OrderBySlack(&*plan, SlackWorkFor(*plan, *bound_s));
  if (status.ok()) status = AddLanes(port_lanes, &*plan);
  if (absl::IsFailedPrecondition(status)) return absl::InvalidArgumentError(status.message());
  if (!status.ok()) return status;
  return Finished(shape, *std::move(plan),
                  port_lanes > 0 ? absl::StrCat("lanes-", port_lanes) : "lanes");
}

}  // namespace weir::planner
