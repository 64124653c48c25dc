#include "planner/job/builders/split_assembly.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "planner/job/job_drafts.h"
#include "planner/job/map_chunks.h"
#include "planner/job/store_steps.h"
#include "planner/order/coalesce.h"
#include "planner/order/order_by_rates.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"

namespace weir::planner {
namespace {

absl::Status OrderTransfers(PieceOrder order, Plan& plan) {
  if (order == PieceOrder::kFetchAll) return OrderFetchAll(&plan);
  if (order == PieceOrder::kRates) return OrderByRates(&plan);
  if (order == PieceOrder::kRatesOverTime) return OrderByRatesOverTime(&plan);
  const bool by_start = order == PieceOrder::kPieces || order == PieceOrder::kPairsByStart;
  return by_start ? OrderByStart(&plan) : OrderByPriority(&plan);
}

std::vector<PieceDraft> Pieces(const LoadSplit& split, const std::vector<TimedSchedule>& schedules,
                               PieceOrder order, std::size_t p) {
  if (order == PieceOrder::kRotation || order == PieceOrder::kFetchAll ||
      order == PieceOrder::kRates || order == PieceOrder::kRatesOverTime) {
    return RotationPieces(static_cast<std::int32_t>(split.shares[p - 1].size()),
                          static_cast<std::int32_t>(split.shares[p].size()));
  }
  const TimedSchedule& timed = schedules[p - 1];
  return order == PieceOrder::kPieces
             ? load::DraftPieces(timed.schedule, timed.time_unit_s, timed.begin_s, kShortestGrantS)
             : load::DraftPairs(timed.schedule, timed.time_unit_s, timed.begin_s);
}

}  // namespace

absl::StatusOr<std::vector<TimedSchedule>> SchedulesOf(const load::Chain& chain,
                                                       const LoadSplit& split) {
  std::vector<TimedSchedule> schedules;
  Seconds begin_s = 0;
  for (std::size_t p = 0; p + 1 < split.shares.size(); ++p) {
    const absl::StatusOr<load::ScaledLayer> layer =
        load::ScaleLayer(load::LayerOfChain(chain, p, split.shares[p + 1]));
    if (!layer.ok()) return layer.status();
    absl::StatusOr<load::LayerSchedule> schedule = load::ScheduleLayer(*layer, split.shares[p], {});
    if (!schedule.ok()) return schedule.status();
    schedules.push_back({*std::move(schedule), layer->time_unit_s, begin_s});
    begin_s += schedules.back().schedule.makespan * layer->time_unit_s;
  }
  return schedules;
}

absl::StatusOr<Plan> AssembleSplit(const JobShape& shape, const ClusterProfile& cluster,
                                   const LoadSplit& split,
                                   const std::vector<TimedSchedule>& schedules, PieceOrder order) {
  PlanAssembly assembly(cluster.network);
  const absl::StatusOr<std::vector<MapperDraft>> mappers =
      DraftMappers(shape, cluster, MapChunks(shape, split.shares[0]), split.workers[0]);
  if (!mappers.ok()) return mappers.status();
  if (absl::Status status = assembly.AddMappers(*mappers); !status.ok()) return status;
  LayerDraft layer;  // the one added last
  for (std::size_t p = 1; p < split.shares.size(); ++p) {
    layer = DraftReducers(shape, p - 1, split.shares[p - 1].size(), cluster, split.shares[p],
                          split.workers[p]);
    if (absl::Status status = assembly.AddReducers(layer, Pieces(split, schedules, order, p));
        !status.ok()) {
      return status;
    }
  }
  const Seconds store_begin_s =
      schedules.empty() ? 0
                        : schedules.back().begin_s +
                              schedules.back().schedule.makespan * schedules.back().time_unit_s;
  if (absl::Status status = AddStoreSteps(shape.store, layer, store_begin_s, assembly);
      !status.ok()) {
    return status;
  }
  Plan plan = assembly.TakePlan();
  if (absl::Status status = OrderTransfers(order, plan); !status.ok()) return status;
  if (absl::Status status = LimitStore(shape.store, plan); !status.ok()) return status;
  return plan;
}

}  // namespace weir::planner
