// A planned layer as a Plan: the coarse order keeps one transfer a pair, and a hand-made layer has
// the times it must.

#include <gtest/gtest.h>

#include "planner/load/fast_layer.h"
#include "planner/plan/check_plan.h"
#include "tests/unit/planner_load/plan_of_layer.h"
#include "tests/unit/planner_load/random_layer.h"

namespace weir::planner::load {
namespace {

TEST(PlanLayerTest, TwoMappersOneChannelByHand) {
  // x = (1/3, 2/3) of 1e14 B at 1 s per 1e14 B, sent at the same rate: T = 4/3 s.
  Layer layer;
  layer.kind = LayerKind::kMapper;
  layer.num_senders = 2;
  layer.load_bytes = static_cast<double>(kPlannedBytes);
  layer.channel_seconds_per_byte = 1e-14;
  layer.compute = ComputeFunction::Linear(1e-14, 0);
  layer.next_fractions = {1};
  const absl::StatusOr<ScaledLayer> scaled = ScaleLayer(layer);
  ASSERT_TRUE(scaled.ok());
  const ScaledLoads loads = FastLoads(*scaled);
  const absl::StatusOr<LayerSchedule> schedule = ScheduleLayer(*scaled, loads.share, {});
  ASSERT_TRUE(schedule.ok()) << schedule.status();
  const absl::StatusOr<Plan> plan =
      PlanOfLayer(layer, loads.share, DraftPieces(*schedule, scaled->time_unit_s, 0));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(CheckPlan(*plan).ok()) << CheckPlan(*plan);
  EXPECT_EQ(plan->transfers.size(), 2u);
  EXPECT_NEAR(plan->summary.makespan_s, 4.0 / 3, 1e-12);
}

TEST(PlanLayerTest, CoarseOrderHasOneTransferAPair) {
  RandomLayers random(11);
  for (int round = 0; round < 100; ++round) {
    Layer layer = random.Next(8, 8);
    GrowToPlannedBytes(layer);
    const absl::StatusOr<ScaledLayer> scaled = ScaleLayer(layer);
    ASSERT_TRUE(scaled.ok());
    const ScaledLoads loads = FastLoads(*scaled);
    const absl::StatusOr<LayerSchedule> schedule = ScheduleLayer(*scaled, loads.share, {});
    ASSERT_TRUE(schedule.ok()) << schedule.status();
    const absl::StatusOr<Plan> plan =
        PlanOfLayer(layer, loads.share, DraftPairs(*schedule, scaled->time_unit_s, 0));
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_TRUE(CheckPlan(*plan).ok()) << CheckPlan(*plan);
    EXPECT_GE(plan->summary.makespan_s, loads.bound * scaled->time_unit_s * (1 - 1e-9));
    EXPECT_LE(plan->transfers.size(), static_cast<std::size_t>(scaled->n * scaled->r));
  }
}

}  // namespace
}  // namespace weir::planner::load
