#pragma once

// A planned layer as a Plan on separate sender and receiver machines, so that CheckPlan and Predict
// can judge it.

#include <cmath>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/load/fast_layer.h"
#include "planner/load/layer.h"
#include "planner/load/plan_pieces.h"
#include "planner/order/transfer_orders.h"
#include "planner/order/whole_bytes.h"
#include "planner/plan/check_plan.h"

namespace weir::planner::load {

inline constexpr Bytes kPlannedBytes = 100'000'000'000'000;

/// Gives a layer kPlannedBytes of load, large enough that rounding to whole bytes does not show.
inline void GrowToPlannedBytes(Layer& layer) {
  layer.mapper_startup_s *= static_cast<double>(kPlannedBytes) / layer.load_bytes;
  layer.load_bytes = static_cast<double>(kPlannedBytes);
}

/// Returns the plan of a layer of kPlannedBytes that sends to receivers which do nothing.
inline absl::StatusOr<Plan> PlanOfLayer(const Layer& layer, const std::vector<double>& share,
                                        const std::vector<PieceDraft>& pieces) {
  const auto n = layer.num_senders;
  const auto r = static_cast<std::int32_t>(layer.next_fractions.size());
  PlanAssembly assembly(LimitedTotal(n + r, layer.channel_seconds_per_byte, layer.channels));
  std::vector<MapperDraft> senders;
  const std::vector<Bytes> sizes = WholeBytes(kPlannedBytes, share);
  for (std::int32_t j = 0; j < n; ++j) {
    const Bytes input = sizes[static_cast<std::size_t>(j)];
    const auto output =
        static_cast<Bytes>(std::llround(static_cast<double>(input) * layer.output_ratio));
    const Seconds start_s = layer.kind == LayerKind::kMapper ? (j + 1) * layer.mapper_startup_s : 0;
    senders.push_back({j, input, output, start_s, layer.compute.Value(static_cast<double>(input))});
  }
  if (absl::Status status = assembly.AddMappers(senders); !status.ok()) return status;
  LayerDraft receivers;
  for (std::int32_t k = 0; k < r; ++k) {
    receivers.reducers.push_back({n + k, layer.next_fractions[static_cast<std::size_t>(k)]});
  }
  receivers.reduce_seconds = [](WorkerIndex, Bytes) { return 0.0; };
  if (absl::Status status = assembly.AddReducers(receivers, pieces); !status.ok()) return status;
  Plan plan = assembly.TakePlan();
  if (absl::Status status = OrderByStart(&plan); !status.ok()) return status;
  return plan;
}

/// A layer that was solved and scheduled, and its plan.
struct PlannedLayer {
  ScaledLayer scaled;
  ScaledLoads loads;
  LayerSchedule schedule;
  Plan plan;
};

/// Solves the layer by FastLoads and plans it by `draft`, which makes DraftPieces or DraftPairs of
/// the schedule and the seconds of its unit. Errors: those of each part; CheckPlan's.
template <typename Draft>
absl::StatusOr<PlannedLayer> PlanFastLayer(const Layer& layer, const Draft& draft) {
  absl::StatusOr<ScaledLayer> scaled = ScaleLayer(layer);
  if (!scaled.ok()) return scaled.status();
  ScaledLoads loads = FastLoads(*scaled);
  absl::StatusOr<LayerSchedule> schedule = ScheduleLayer(*scaled, loads.share, {});
  if (!schedule.ok()) return schedule.status();
  absl::StatusOr<Plan> plan =
      PlanOfLayer(layer, loads.share, draft(*schedule, scaled->time_unit_s));
  if (!plan.ok()) return plan.status();
  if (absl::Status holds = CheckPlan(*plan); !holds.ok()) return holds;
  return PlannedLayer{*std::move(scaled), std::move(loads), *std::move(schedule), *std::move(plan)};
}

}  // namespace weir::planner::load
