// Layers solved by hand, the closed form against the recursion, and what the bound promises.

#include "planner/load/fast_layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "planner/load/solve_layer.h"

namespace weir::planner::load {
namespace {

Layer LayerOf(LayerKind kind, std::int32_t n, std::int32_t l, std::vector<double> fractions) {
  Layer layer;
  layer.kind = kind;
  layer.num_senders = n;
  layer.channels = l;
  layer.load_bytes = 1;
  layer.channel_seconds_per_byte = 1;
  layer.compute = ComputeFunction::Linear(1, 0);
  layer.next_fractions = std::move(fractions);
  return layer;
}

TEST(FastLayerTest, OneSenderComputesThenSends) {
  Layer layer = LayerOf(LayerKind::kReducer, 1, 1, {1});
  layer.compute = ComputeFunction::Linear(2, 0.5);
  const absl::StatusOr<LayerSolution> solution = SolveLayer(layer, LayerMethod::kFast);
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_NEAR(solution->makespan_s, 0.5 + 2 + 1, 1e-12);
  EXPECT_EQ(solution->gap, 0);
}

TEST(FastLayerTest, TwoMappersShareOneChannel) {
  // The second sends when the first is done: x_2 = 2 x_1, T = 2 x_2 = 4/3.
  const absl::StatusOr<LayerSolution> solution =
      SolveLayer(LayerOf(LayerKind::kMapper, 2, 1, {1}), LayerMethod::kFast);
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_NEAR(solution->share[0], 1.0 / 3, 1e-12);
  EXPECT_NEAR(solution->share[1], 2.0 / 3, 1e-12);
  EXPECT_NEAR(solution->makespan_s, 4.0 / 3, 1e-12);
}

TEST(FastLayerTest, LateMapperGetsLess) {
  // Two channels, equal receivers: x_k = (T - k S) / (A + c), so 1 = (2 T - 0.3) / 2.
  Layer layer = LayerOf(LayerKind::kMapper, 2, 2, {0.5, 0.5});
  layer.mapper_startup_s = 0.1;
  const absl::StatusOr<LayerSolution> solution = SolveLayer(layer, LayerMethod::kFast);
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_NEAR(solution->makespan_s, 1.15, 1e-12);
  EXPECT_NEAR(solution->share[0], 0.525, 1e-12);
  EXPECT_NEAR(solution->share[1], 0.475, 1e-12);
}

TEST(FastLayerTest, UnusedMappersStillHaveToStart) {
  Layer layer = LayerOf(LayerKind::kMapper, 5, 2, {1});
  layer.mapper_startup_s = 10;
  const absl::StatusOr<LayerSolution> solution = SolveLayer(layer, LayerMethod::kFast);
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_NEAR(solution->makespan_s, 50, 1e-9);
  EXPECT_EQ(solution->method, "fast: start-up forced");
}

TEST(FastLayerTest, StartupBeyondResolutionStillGivesAnAnswer) {
  Layer layer = LayerOf(LayerKind::kReducer, 4, 2, {0.7, 0.3});
  layer.compute = ComputeFunction::Linear(1e-9, 1e9);
  layer.channel_seconds_per_byte = 1e-9;
  const absl::StatusOr<LayerSolution> solution = SolveLayer(layer, LayerMethod::kExact);
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_EQ(solution->makespan_s, 1e9);
  EXPECT_EQ(solution->gap, 0);
  for (const double share : solution->share) EXPECT_EQ(share, 0.25);
}

TEST(FastLayerTest, OneDominantReceiverLimitsTheLayer) {
  // All output to receiver 0 of two: its port is one channel, whatever l is.
  const absl::StatusOr<LayerSolution> wide =
      SolveLayer(LayerOf(LayerKind::kMapper, 2, 2, {1, 0}), LayerMethod::kFast);
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_NEAR(wide->makespan_s, 4.0 / 3, 1e-12);
}

TEST(FastLayerTest, ClosedFormMeetsTheCutBound) {
  for (const LayerKind kind : {LayerKind::kMapper, LayerKind::kReducer}) {
    for (const std::int32_t n : {1, 3, 7, 8, 20}) {
      for (const std::int32_t l : {1, 2, 4}) {
        for (const double c : {0.01, 0.7, 20.0}) {
          Layer layer = LayerOf(kind, n, l, {0.25, 0.25, 0.25, 0.25});
          layer.load_bytes = 1e9;
          layer.channel_seconds_per_byte = c;
          if (kind == LayerKind::kMapper) layer.mapper_startup_s = 0.01 * layer.load_bytes / n;
          if (kind == LayerKind::kReducer)
            layer.compute = ComputeFunction::Chords(0.04, 5, layer.load_bytes);
          const absl::StatusOr<ScaledLayer> scaled = ScaleLayer(layer);
          ASSERT_TRUE(scaled.ok());
          ASSERT_TRUE(HasClosedForm(*scaled));
          const ScaledLoads closed = ClosedFormLoads(*scaled);
          EXPECT_NEAR(closed.time / FindCutBound(*scaled).time, 1, 1e-11);
          EXPECT_NEAR(CutMakespan(*scaled, closed.share) / closed.time, 1, 1e-11);
        }
      }
    }
  }
}

TEST(FastLayerTest, NoSendingMeansEqualReducers) {
  Layer layer = LayerOf(LayerKind::kReducer, 4, 2, {1});
  layer.output_ratio = 0;
  const absl::StatusOr<LayerSolution> solution = SolveLayer(layer, LayerMethod::kExact);
  ASSERT_TRUE(solution.ok()) << solution.status();
  for (const double share : solution->share) EXPECT_NEAR(share, 0.25, 1e-12);
}

TEST(FastLayerTest, TrueCurveIsSolvedExactlyToo) {
  Layer layer = LayerOf(LayerKind::kReducer, 6, 3, {0.5, 0.3, 0.1, 0.1});
  layer.load_bytes = 1e9;
  layer.channel_seconds_per_byte = 3;
  layer.compute = ComputeFunction::NLogN(0.1, 2);
  const absl::StatusOr<LayerSolution> curve = SolveLayer(layer, LayerMethod::kExact);
  ASSERT_TRUE(curve.ok()) << curve.status();
  EXPECT_EQ(curve->gap, 0);
  layer.compute = ComputeFunction::Chords(0.1, 2, layer.load_bytes);
  const absl::StatusOr<LayerSolution> chords = SolveLayer(layer, LayerMethod::kExact);
  ASSERT_TRUE(chords.ok()) << chords.status();
  EXPECT_LE(curve->makespan_s, chords->makespan_s);
  EXPECT_NEAR(curve->makespan_s / chords->makespan_s, 1,
              0.01);  // 004, section 4.1: below 1 % above 1E5 bytes
}

// Loads that would fill the time are up to ten orders of magnitude above what is left of them.
TEST(FastLayerTest, SharesAddUpToOneHoweverLittleComputingIsBesideStartUp) {
  std::mt19937 random(3);
  double farthest = 0;
  for (int i = 0; i < 200; ++i) {
    const auto n = static_cast<std::int32_t>(2 + random() % 40);
    Layer layer = LayerOf(LayerKind::kMapper, n, static_cast<std::int32_t>(1 + random() % 30),
                          std::vector<double>(1 + random() % 60));
    for (double& fraction : layer.next_fractions) fraction = static_cast<double>(1 + random() % 9);
    const double sum =
        std::accumulate(layer.next_fractions.begin(), layer.next_fractions.end(), 0.0);
    for (double& fraction : layer.next_fractions) fraction /= sum;
    layer.load_bytes = 1e5;
    layer.channel_seconds_per_byte = 1e-11;
    layer.compute = ComputeFunction::Linear(6.3e-13, 0);
    layer.mapper_startup_s = 100;
    const absl::StatusOr<LayerSolution> solution = SolveLayer(layer, LayerMethod::kFast);
    ASSERT_TRUE(solution.ok()) << solution.status();
    const double total = std::accumulate(solution->share.begin(), solution->share.end(), 0.0);
    farthest = std::max(farthest, std::abs(total - 1));
  }
  EXPECT_LE(farthest, 1e-12);
}

TEST(FastLayerTest, TheAutomaticMethodAnswersWhereItsProgramDoesNotClose) {
  Layer layer = LayerOf(LayerKind::kReducer, 16, 7, {4, 8, 5, 1, 9, 3, 2, 2, 9, 4, 6});
  for (double& fraction : layer.next_fractions) fraction /= 53;
  layer.load_bytes = 1e9;
  layer.channel_seconds_per_byte = 1e-8;
  layer.output_ratio = 0.2;
  layer.compute = ComputeFunction::NLogN(1e-9, 0);
  const absl::StatusOr<LayerSolution> solution = SolveLayer(layer, LayerMethod::kAutomatic);
  ASSERT_TRUE(solution.ok()) << solution.status();
  EXPECT_LT(solution->gap, 1e-4);
}

}  // namespace
}  // namespace weir::planner::load
