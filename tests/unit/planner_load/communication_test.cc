// Schedules of one layer, checked by CheckSchedule, which knows nothing of how they are made.

#include "planner/load/communication.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "planner/load/fast_layer.h"
#include "planner/load/longest_remaining.h"
#include "planner/load/matching_schedule.h"
#include "planner/load/schedule_layer.h"
#include "planner/load/source_decomposition.h"
#include "planner/load/wheel.h"
#include "tests/unit/planner_load/random_layer.h"
#include "tests/unit/planner_load/section_five_layer.h"

namespace weir::planner::load {
namespace {

constexpr double kGrain = 1e-8;

void ExpectSound(const ShuffleDemand& demand, const std::vector<Piece>& pieces) {
  const ScheduleFault fault = CheckSchedule(demand, pieces, kGrain);
  EXPECT_LE(fault.demand, 1e-8);
  EXPECT_LE(fault.port_overlap, 1e-8);
  EXPECT_LE(fault.channels_over, 0);
  EXPECT_LE(fault.early, 1e-9);
}

std::vector<std::vector<double>> RandomDemand(RandomLayers& random, std::int32_t n,
                                              std::int32_t r) {
  std::vector<std::vector<double>> time(static_cast<std::size_t>(n),
                                        std::vector<double>(static_cast<std::size_t>(r)));
  for (auto& row : time) {
    for (double& cell : row) cell = random.Whole(0, 3) == 0 ? 0 : random.Uniform(0, 1);
  }
  time[0][0] = 0.5;
  return time;
}

TEST(CheckScheduleTest, FindsPiecesThatTakeTimeBackOrHaveNone) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const ShuffleDemand demand{{0}, {{1}}, 1};
  EXPECT_EQ(CheckSchedule(demand, {{0, 0, 0, 2}, {0, 0, 2, 1}}, kGrain).demand, infinity);
  EXPECT_EQ(CheckSchedule(demand, {{0, 0, 0, nan}}, kGrain).demand, infinity);
}

TEST(CheckScheduleTest, FindsEveryFault) {
  const ShuffleDemand demand{{0, 1}, {{1, 0}, {0, 1}}, 1};
  EXPECT_EQ(CheckSchedule(demand, {{0, 0, 0, 1}, {1, 1, 1, 2}}, kGrain).channels_over, 0);
  EXPECT_EQ(CheckSchedule(demand, {{0, 0, 0.5, 1.5}, {1, 1, 1, 2}}, kGrain).channels_over, 1);
  EXPECT_NEAR(CheckSchedule(demand, {{0, 0, 0, 1}}, kGrain).demand, 1, 0);
  EXPECT_NEAR(CheckSchedule(demand, {{0, 0, 0, 1}, {0, 1, 0.5, 1}}, kGrain).port_overlap, 0.5, 0);
  const ShuffleDemand to_one{{0, 0}, {{1}, {1}}, 2};
  EXPECT_EQ(CheckSchedule(to_one, {{0, 0, 0, 1}, {1, 0, 0.75, 1.75}}, kGrain).port_overlap, 0.25);
  EXPECT_NEAR(CheckSchedule(demand, {{0, 0, 0, 1}, {1, 1, 0.25, 1.25}}, kGrain).early, 0.75, 0);
}

TEST(MatchingScheduleTest, FillsTheShortestWindow) {
  RandomLayers random(3);
  for (int round = 0; round < 300; ++round) {
    const std::int32_t n = random.Whole(1, 9), r = random.Whole(1, 9), l = random.Whole(1, 10);
    const ShuffleDemand demand{std::vector<double>(static_cast<std::size_t>(n), 2.0),
                               RandomDemand(random, n, r), l};
    const double length = WindowNeeded(demand.send_time, l);
    const absl::StatusOr<std::vector<Piece>> pieces =
        MatchingSchedule(demand.send_time, 2, length, l);
    ASSERT_TRUE(pieces.ok()) << pieces.status();
    ExpectSound(demand, *pieces);
    for (const Piece& piece : *pieces) EXPECT_LE(piece.end, 2 + length * (1 + 1e-9));
  }
}

// A sender with thousands of pairs that are all but empty ends before the others: what these had
// under way was lost with it.
TEST(MatchingScheduleTest, WhatIsUnderWayWhenASenderIsDoneEarlyIsSent) {
  constexpr std::int32_t kReceivers = 2000;
  for (const std::int32_t n : {2, 3, 5}) {
    std::vector<std::vector<double>> send_time(At(n), std::vector<double>(kReceivers, 0.9e-13));
    for (std::int32_t j = 0; j < n; ++j) {
      for (std::int32_t k = 0; k < 10; ++k) {
        send_time[At(j)][At(j * 10 + k)] = (1 + (k * 7 + j * 3) % 5) / 30.0;
      }
    }
    const ShuffleDemand demand{std::vector<double>(At(n), 0), send_time, n};
    const double length = WindowNeeded(send_time, n);
    const absl::StatusOr<std::vector<Piece>> pieces = MatchingSchedule(send_time, 0, length, n);
    ASSERT_TRUE(pieces.ok()) << pieces.status();
    ExpectSound(demand, *pieces);
    for (const Piece& piece : *pieces) EXPECT_LE(piece.end, length * (1 + 1e-9));
  }
}

TEST(MatchingScheduleTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(MatchingSchedule({{1, 1}}, 0, 1.5, 1).status().code(), absl::StatusCode::kInternal);
}

TEST(SourceDecompositionTest, AgreesWithTheEventDrivenOne) {
  RandomLayers random(4);
  for (int round = 0; round < 100; ++round) {
    const std::int32_t n = random.Whole(1, 6), r = random.Whole(1, 6), l = random.Whole(1, 6);
    const ShuffleDemand demand{std::vector<double>(static_cast<std::size_t>(n), 0),
                               RandomDemand(random, n, r), l};
    const double length = WindowNeeded(demand.send_time, l) * (round % 2 == 0 ? 1 : 1.3);
    const absl::StatusOr<std::vector<Piece>> pieces =
        SourceDecomposition(demand.send_time, 0, length, l);
    ASSERT_TRUE(pieces.ok()) << pieces.status();
    const ScheduleFault fault = CheckSchedule(demand, *pieces, kGrain);
    EXPECT_LE(fault.demand, 1e-6);
    EXPECT_LE(fault.port_overlap, 1e-9);
    EXPECT_LE(fault.channels_over, 0);
    for (const Piece& piece : *pieces) EXPECT_LE(piece.end, length * (1 + 1e-9));
  }
}

TEST(WheelTest, EqualReceiversNeedOnePieceAPair) {
  const std::vector<Piece> pieces = WheelTurn({0, 1, 2, 3}, {0.25, 0.25, 0.25, 0.25}, 4, 10, 14);
  EXPECT_EQ(pieces.size(), 16u);
  ExpectSound({{10, 10, 10, 10}, std::vector<std::vector<double>>(4, std::vector<double>(4, 1)), 4},
              pieces);
}

TEST(WheelTest, UnequalReceiversNeverCollide) {
  const std::vector<double> fractions{0.3, 0.05, 0.25, 0.4};
  std::vector<std::vector<double>> time(2);
  for (auto& row : time) {
    for (const double fraction : fractions) row.push_back(fraction * 3);
  }
  ExpectSound({{1, 1}, time, 2}, WheelTurn({0, 1}, fractions, 2, 1, 4));
}

// Each piece is a transfer of its own, which costs a gap of the line.
TEST(ScheduleLayerTest, AHundredByAHundredTakeTwoPiecesAPair) {
  for (const LayerKind kind : {LayerKind::kMapper, LayerKind::kReducer}) {
    for (const bool equal : {true, false}) {
      const absl::StatusOr<ScaledLayer> layer = ScaleLayer(SectionFiveLayer(kind, 100, equal));
      ASSERT_TRUE(layer.ok()) << layer.status();
      const ScaledLoads loads = FastLoads(*layer);
      const absl::StatusOr<LayerSchedule> schedule = ScheduleLayer(*layer, loads.share, {});
      ASSERT_TRUE(schedule.ok()) << schedule.status();
      EXPECT_LE(schedule->pieces.size(), 21'000U) << schedule->method;
      EXPECT_LE(schedule->makespan / loads.bound, 1.01) << schedule->method;
    }
  }
}

TEST(ScheduleLayerTest, MeetsTheCutMakespanInEveryRegime) {
  RandomLayers random(5);
  int wheels = 0;
  for (int round = 0; round < 400; ++round) {
    const absl::StatusOr<ScaledLayer> layer = ScaleLayer(random.Next(8, 8));
    ASSERT_TRUE(layer.ok()) << layer.status();
    const ScaledLoads loads = FastLoads(*layer);
    const absl::StatusOr<LayerSchedule> schedule = ScheduleLayer(*layer, loads.share, {});
    ASSERT_TRUE(schedule.ok()) << schedule.status();
    ExpectSound(DemandOf(*layer, loads.share), schedule->pieces);
    EXPECT_NEAR(schedule->makespan / loads.time, 1, 1e-6) << schedule->method;
    if (schedule->method == "wheel") ++wheels;
    EXPECT_LE(static_cast<double>(schedule->pieces.size()),
              12.0 * layer->n * layer->r + 2 * layer->n);
  }
  EXPECT_GT(wheels, 50);
}

TEST(ScheduleLayerTest, SourceScheduleIsSoundToo) {
  RandomLayers random(6);
  for (int round = 0; round < 30; ++round) {
    Layer raw = random.Next(5, 4);
    if (raw.compute.smooth()) continue;
    const absl::StatusOr<ScaledLayer> layer = ScaleLayer(raw);
    ASSERT_TRUE(layer.ok());
    const absl::StatusOr<LayerSchedule> schedule = ScheduleLayerBySource(*layer);
    ASSERT_TRUE(schedule.ok()) << schedule.status();
    EXPECT_LE(schedule->makespan / FastLoads(*layer).time, 1 + 1e-6);
    EXPECT_GE(schedule->makespan / FastLoads(*layer).bound, 1 - 1e-6);
  }
}

TEST(LongestRemainingTest, IsSoundAndCloseToTheCuts) {
  RandomLayers random(7);
  for (int round = 0; round < 40; ++round) {
    const absl::StatusOr<ScaledLayer> layer = ScaleLayer(random.Next(40, 40));
    ASSERT_TRUE(layer.ok());
    const ScaledLoads loads = FastLoads(*layer);
    const ShuffleDemand demand = DemandOf(*layer, loads.share);
    const absl::StatusOr<LongestRemainingResult> result =
        LongestRemainingFirst(demand, loads.time * 0.001);
    ASSERT_TRUE(result.ok()) << result.status();
    ExpectSound(demand, result->pieces);
    EXPECT_LE(result->makespan / loads.time, 1.02);
  }
}

}  // namespace
}  // namespace weir::planner::load
