// A planned layer as a Plan: the coarse order keeps one transfer a pair, and a hand-made layer has
// the times it must.

#include <gtest/gtest.h>

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
  const absl::StatusOr<PlannedLayer> planned =
      PlanFastLayer(layer, [](const LayerSchedule& schedule, Seconds unit_s) {
        return DraftPieces(schedule, unit_s, 0);
      });
  ASSERT_TRUE(planned.ok()) << planned.status();
  EXPECT_EQ(planned->plan.transfers.size(), 2u);
  EXPECT_NEAR(planned->plan.summary.makespan_s, 4.0 / 3, 1e-12);
}

TEST(PlanLayerTest, CoarseOrderHasOneTransferAPair) {
  RandomLayers random(11);
  for (int round = 0; round < 100; ++round) {
    Layer layer = random.Next(8, 8);
    GrowToPlannedBytes(layer);
    const absl::StatusOr<PlannedLayer> planned =
        PlanFastLayer(layer, [](const LayerSchedule& schedule, Seconds unit_s) {
          return DraftPairs(schedule, unit_s, 0);
        });
    ASSERT_TRUE(planned.ok()) << planned.status();
    const ScaledLayer& scaled = planned->scaled;
    EXPECT_GE(planned->plan.summary.makespan_s,
              planned->loads.bound * scaled.time_unit_s * (1 - 1e-9));
    EXPECT_LE(planned->plan.transfers.size(), static_cast<std::size_t>(scaled.n * scaled.r));
  }
}

}  // namespace
}  // namespace weir::planner::load
