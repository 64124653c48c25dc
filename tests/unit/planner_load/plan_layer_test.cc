// A planned layer as a Plan on separate mapper and reducer machines: CheckPlan accepts it and
// Predict returns what was planned.

#include <gtest/gtest.h>

#include <cmath>

#include "planner/load/fast_layer.h"
#include "planner/load/plan_pieces.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict.h"
#include "planner/plan/transfer_orders.h"
#include "planner/plan/whole_bytes.h"
#include "tests/unit/planner_load/random_layer.h"

namespace weir::planner::load {
namespace {

constexpr Bytes kInputBytes = 100'000'000'000'000;

/// The plan of a mapper layer that sends to receivers which do nothing.
absl::StatusOr<Plan> PlanOf(const Layer& layer, const ScaledLoads& loads,
                            const std::vector<PieceDraft>& pieces) {
  const auto n = layer.num_senders;
  const auto r = static_cast<std::int32_t>(layer.next_fractions.size());
  PlanAssembly assembly(LimitedTotal(n + r, layer.channel_seconds_per_byte, layer.channels));
  std::vector<MapperDraft> mappers;
  const std::vector<Bytes> sizes = WholeBytes(kInputBytes, loads.share);
  for (std::int32_t j = 0; j < n; ++j) {
    const Bytes input = sizes[static_cast<std::size_t>(j)];
    const auto output =
        static_cast<Bytes>(std::llround(static_cast<double>(input) * layer.output_ratio));
    const double map_s = layer.compute.lines()[0].slope * static_cast<double>(input);
    mappers.push_back({j, input, output, (j + 1) * layer.mapper_startup_s, map_s});
  }
  if (absl::Status status = assembly.AddMappers(mappers); !status.ok()) return status;
  LayerDraft receivers;
  for (std::int32_t k = 0; k < r; ++k)
    receivers.reducers.push_back({n + k, layer.next_fractions[static_cast<std::size_t>(k)]});
  receivers.reduce_seconds = [](WorkerIndex, Bytes) { return 0.0; };
  if (absl::Status status = assembly.AddReducers(receivers, pieces); !status.ok()) return status;
  Plan plan = assembly.TakePlan();
  if (absl::Status status = OrderByStart(&plan); !status.ok()) return status;
  return plan;
}

TEST(PlanLayerTest, PredictionEqualsThePlannedMakespan) {
  RandomLayers random(11);
  int mappers = 0;
  while (mappers < 200) {
    Layer layer = random.Next(8, 8);
    if (layer.kind != LayerKind::kMapper) continue;
    ++mappers;
    layer.load_bytes = static_cast<double>(kInputBytes);
    const absl::StatusOr<ScaledLayer> scaled = ScaleLayer(layer);
    ASSERT_TRUE(scaled.ok());
    const ScaledLoads loads = FastLoads(*scaled);
    const absl::StatusOr<LayerSchedule> schedule = ScheduleLayer(*scaled, loads.share, {});
    ASSERT_TRUE(schedule.ok()) << schedule.status();
    const absl::StatusOr<Plan> plan =
        PlanOf(layer, loads, DraftPieces(*schedule, scaled->time_unit_s, 0));
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_TRUE(CheckPlan(*plan).ok()) << CheckPlan(*plan);
    EXPECT_NEAR(plan->summary.makespan_s / (loads.time * scaled->time_unit_s), 1, 1e-6)
        << schedule->method;
    const absl::StatusOr<Plan> coarse =
        PlanOf(layer, loads, DraftPairs(*schedule, scaled->time_unit_s, 0));
    ASSERT_TRUE(coarse.ok()) << coarse.status();
    EXPECT_TRUE(CheckPlan(*coarse).ok()) << CheckPlan(*coarse);
    EXPECT_GE(coarse->summary.makespan_s, loads.bound * scaled->time_unit_s * (1 - 1e-9));
    EXPECT_LE(coarse->transfers.size(), static_cast<std::size_t>(scaled->n * scaled->r));
  }
}

}  // namespace
}  // namespace weir::planner::load
