// What must hold for every layer, on 20 000 random ones in all regimes of random_layer.h.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "planner/load/exact_layer.h"
#include "planner/load/fast_layer.h"
#include "planner/load/solve_layer.h"
#include "planner/load/source_program.h"
#include "planner/plan/check_plan.h"
#include "tests/unit/planner_load/plan_of_layer.h"
#include "tests/unit/planner_load/random_layer.h"

namespace weir::planner::load {
namespace {

constexpr int kInstances = 20000;
constexpr int kProgramInstances = 2000;

/// The same layer in KiB and milliseconds.
Layer InOtherUnits(Layer layer) {
  layer.load_bytes /= 1024;
  layer.channel_seconds_per_byte *= 1024 * 1000;
  layer.mapper_startup_s *= 1000;
  layer.compute = layer.compute.Scaled(1024, 1e-3);
  return layer;
}

TEST(LoadProperty, LoadsAreSoundCertifiedAndFreeOfUnits) {
  RandomLayers random(2025);
  double gap_max = 0;
  int warned = 0;
  for (int round = 0; round < kInstances; ++round) {
    const Layer layer = random.Next(round % 100 == 0 ? 60 : 12, 12);
    const absl::StatusOr<LayerSolution> solution = SolveLayer(layer, LayerMethod::kFast);
    ASSERT_TRUE(solution.ok()) << solution.status();
    double sum = 0;
    for (const double share : solution->share) {
      ASSERT_GE(share, 0);
      sum += share;
    }
    ASSERT_NEAR(sum, 1, 1e-9);
    ASSERT_TRUE(
        std::is_sorted(solution->finish_s.begin(), solution->finish_s.end(),
                       [&](double a, double b) { return a < b - 1e-9 * solution->makespan_s; }));
    ASSERT_GE(solution->makespan_s, solution->lower_bound_s);
    ASSERT_EQ(solution->warning.empty(), solution->gap <= kGapWarning);
    gap_max = std::max(gap_max, solution->gap);
    if (!solution->warning.empty()) ++warned;

    const absl::StatusOr<ScaledLayer> scaled = ScaleLayer(layer);
    const std::vector<double> equal(solution->share.size(), 1.0 / layer.num_senders);
    ASSERT_LE(solution->makespan_s, CutMakespan(*scaled, equal) * scaled->time_unit_s * (1 + 1e-9));

    const absl::StatusOr<LayerSolution> other = SolveLayer(InOtherUnits(layer), LayerMethod::kFast);
    ASSERT_TRUE(other.ok()) << other.status();
    ASSERT_NEAR(other->makespan_s / 1000 / solution->makespan_s, 1, 1e-9);
  }
  RecordProperty("gap_max", std::to_string(gap_max));
  std::printf("largest certified gap %.3g, warned %d of %d\n", gap_max, warned, kInstances);
  EXPECT_LE(gap_max, kGapWarning);
}

TEST(LoadProperty, PlansAreFeasibleAndPredictedAsPlanned) {
  RandomLayers random(2026);
  for (int round = 0; round < kInstances; ++round) {
    Layer layer = random.Next(6, 6);
    GrowToPlannedBytes(layer);
    const absl::StatusOr<PlannedLayer> planned =
        PlanFastLayer(layer, [](const LayerSchedule& schedule, Seconds unit_s) {
          return DraftPieces(schedule, unit_s, 0);
        });
    ASSERT_TRUE(planned.ok()) << planned.status() << " round " << round;
    const ScaledLoads& loads = planned->loads;
    const Seconds unit_s = planned->scaled.time_unit_s;
    const Seconds makespan_s = planned->plan.summary.makespan_s;
    ASSERT_NEAR(makespan_s / (loads.time * unit_s), 1, 1e-6)
        << planned->schedule.method << " round " << round;
    ASSERT_GE(makespan_s, loads.bound * unit_s * (1 - 1e-6));
  }
}

TEST(LoadProperty, BoundNeverExceedsTheSourceProgramAndExactMeetsIt) {
  RandomLayers random(2027);
  int compared = 0;
  while (compared < kProgramInstances) {
    const Layer layer = random.Next(8, 6);
    if (layer.compute.smooth()) continue;
    ++compared;
    const absl::StatusOr<ScaledLayer> scaled = ScaleLayer(layer);
    ASSERT_TRUE(scaled.ok()) << scaled.status();
    const absl::StatusOr<SourceSolution> source = SolveSourceProgram(*scaled);
    ASSERT_TRUE(source.ok()) << source.status();
    ASSERT_LE(FindCutBound(*scaled).time, source->loads.time * (1 + 1e-7));
    // The gap is a promise about the optimum, which the fast method has not seen.
    const absl::StatusOr<LayerSolution> fast = SolveLayer(layer, LayerMethod::kFast);
    ASSERT_TRUE(fast.ok()) << fast.status();
    const double optimum_s = source->loads.time * scaled->time_unit_s;
    ASSERT_LE(fast->lower_bound_s, optimum_s * (1 + 1e-7));
    ASSERT_GE(fast->makespan_s, optimum_s * (1 - 1e-7));
    ASSERT_LE(fast->makespan_s, optimum_s * (1 + fast->gap + 1e-7));
    const absl::StatusOr<LayerSolution> exact = SolveLayer(layer, LayerMethod::kExact);
    ASSERT_TRUE(exact.ok()) << exact.status();
    ASSERT_EQ(exact->gap, 0);
    ASSERT_NEAR(exact->makespan_s / scaled->time_unit_s / source->loads.time, 1, 1e-7);
  }
}

}  // namespace
}  // namespace weir::planner::load
