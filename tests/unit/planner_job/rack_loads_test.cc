// Loads between racks: by hand, against random splits, and in the plans of jobs.

#include "planner/job/rack_loads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "planner/job/builders/even_plan.h"
#include "planner/job/builders/load_plan.h"
#include "planner/job/job_bound.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/units.h"

namespace weir::planner {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// Racks of these sizes, the first one's workers first, with so many channels each way.
NetworkModel RacksOf(const std::vector<std::int32_t>& sizes, std::int32_t channels) {
  NetworkModel network;
  network.num_workers = std::accumulate(sizes.begin(), sizes.end(), 0);
  network.seconds_per_byte = 1e-8;
  WorkerIndex first = 0;
  for (const std::int32_t size : sizes) {
    for (const bool up : {true, false}) {
      Cut cut{up ? "up" : "down", {}, {}, channels};
      for (WorkerIndex w = 0; w < network.num_workers; ++w) {
        const bool inside = w >= first && w < first + size;
        cut.from.push_back(inside == up);
        cut.to.push_back(inside != up);
      }
      network.cuts.push_back(cut);
    }
    first += size;
  }
  return network;
}

std::vector<Rack> EqualRacks(std::size_t racks, std::int32_t hosts, double channels) {
  std::vector<Rack> level;
  for (std::size_t rack = 0; rack < racks; ++rack) {
    level.push_back({std::vector<WorkerIndex>(At(hosts), 0), channels, channels});
  }
  return level;
}

TEST(RackLevelsTest, FindsRacksAndWhatStandsAlone) {
  NetworkModel network = RacksOf({2, 3}, 2);
  // A limited total says nothing of racks; worker 4 has a way out of its own.
  network.cuts.push_back(LimitedTotal(5, 1e-8, 3).cuts[0]);
  network.cuts.push_back(
      {"backup", {false, false, false, false, true}, {true, true, true, true, false}, 1});
  const std::vector<std::vector<Rack>> levels = RackLevels(network);
  ASSERT_EQ(levels.size(), 3u);
  // The smallest sets come first: worker 4, then workers 0 and 1; 2 and 3 are the rest.
  ASSERT_EQ(levels[0].size(), 3u);
  EXPECT_EQ(levels[0][0].workers, (std::vector<WorkerIndex>{4}));
  EXPECT_EQ(levels[0][0].up_channels, 1);
  EXPECT_EQ(levels[0][0].down_channels, kNoLimit);
  EXPECT_EQ(levels[0][1].workers, (std::vector<WorkerIndex>{0, 1}));
  EXPECT_EQ(levels[0][1].up_channels, 2);
  EXPECT_EQ(levels[0][2].workers, (std::vector<WorkerIndex>{2, 3}));
  EXPECT_EQ(levels[0][2].up_channels, kNoLimit);
  EXPECT_TRUE(RackLevels(LimitedTotal(4, 1e-8, 2)).empty());
}

TEST(RackBoundTest, TwoRacksByHand) {
  // 80 s of map work on 4 + 4 workers, 100 s through one channel. A rack that maps and keeps x of
  // it takes 20 x s and sends 100 x (1 - x) s: both are 16 s at x = 0.8, and no other d is better.
  RackWork work;
  work.map_s = 80;
  work.moved_s = 100;
  work.rates = {4, 4};
  const std::vector<Rack> level = EqualRacks(2, 4, 1);
  EXPECT_LE(RackBound(level, work), 16);
  EXPECT_GE(RackBound(level, work), 15.5);
  // What comes before and after counts as well.
  work.after_s = 3;
  EXPECT_GE(RackBound(level, work), 18.5);
  // Four racks: 1 - m of all leaves through four channels, and a rack maps m: 25 (1 - m) = 20 m.
  work.rates = {4, 4, 4, 4};
  EXPECT_GE(RackBound(EqualRacks(4, 4, 1), work), 3 + 20 * 25 / 45.0 - 1e-6);
}

TEST(RackBoundTest, WithoutLimitsIsWhatComputingTakes) {
  RackWork work;
  work.map_s = 80;
  work.reduce_s = 40;
  work.moved_s = 1e6;
  work.rates = {4, 4};
  const Seconds bound_s = RackBound(EqualRacks(2, 4, kNoLimit), work);
  EXPECT_LE(bound_s, 15);
  EXPECT_GE(bound_s, 14.5);
}

TEST(RackSharesTest, ThinWaysKeepTheWorkTogether) {
  RackWork work;
  work.map_s = 80;
  work.moved_s = 100;
  work.rates = {4, 4};
  const std::vector<Rack> level = EqualRacks(2, 4, 1);
  // Half and half: 10 s of mapping and 25 s each way. One rack alone: 20 s, and 100 / 4 * 3 / 4 s
  // through a port.
  EXPECT_DOUBLE_EQ(RackSplitSeconds(level, work, {{0.5, 0.5}, {0.5, 0.5}}), 35);
  EXPECT_DOUBLE_EQ(RackSplitSeconds(level, work, {{1, 0}, {1, 0}}), 20 + 18.75);
  const RackShares best = ShortestRackShares(level, work);
  EXPECT_LT(RackSplitSeconds(level, work, best), 34);
  EXPECT_NEAR(best.mapped[0] + best.mapped[1], 1, 1e-12);
  EXPECT_NEAR(best.reduced[0] + best.reduced[1], 1, 1e-12);
}

RC_GTEST_PROP(RackBoundProperty, NoSplitIsBelowIt, ()) {
  const auto racks = static_cast<std::size_t>(*rc::gen::inRange(2, 6));
  RackWork work;
  work.map_s = *rc::gen::inRange(0, 50);
  work.reduce_s = *rc::gen::inRange(0, 50);
  work.moved_s = *rc::gen::inRange(1, 200);
  work.map_least_s = *rc::gen::inRange(0, 3);
  std::vector<Rack> level;
  for (std::size_t rack = 0; rack < racks; ++rack) {
    const std::int32_t hosts = *rc::gen::inRange(1, 6);
    work.rates.push_back(hosts * *rc::gen::element(0.5, 1.0, 2.0));
    level.push_back({std::vector<WorkerIndex>(At(hosts), 0),
                     *rc::gen::element(1.0, 2.0, 4.0, kNoLimit), *rc::gen::element(1.0, 2.0, 4.0)});
  }
  const Seconds bound_s = RackBound(level, work);
  const auto parts = [&] {
    std::vector<double> drawn(racks);
    for (double& part : drawn) part = *rc::gen::inRange(0, 10);
    drawn[0] += 1;
    const double sum = std::accumulate(drawn.begin(), drawn.end(), 0.0);
    for (double& part : drawn) part /= sum;
    return drawn;
  };
  for (int i = 0; i < 20; ++i) {
    const RackShares shares{parts(), parts()};
    Seconds map_s = work.map_least_s, reduce_s = 0, ways_s = 0;
    for (std::size_t rack = 0; rack < racks; ++rack) {
      const double x = shares.mapped[rack], d = shares.reduced[rack];
      map_s = std::max(map_s, work.map_s * x / work.rates[rack]);
      reduce_s = std::max(reduce_s, work.reduce_s * d / work.rates[rack]);
      ways_s = std::max({ways_s, work.moved_s * x * (1 - d) / level[rack].up_channels,
                         work.moved_s * d * (1 - x) / level[rack].down_channels});
    }
    RC_ASSERT(bound_s <= std::max(map_s + reduce_s, ways_s) + 1e-9);
    RC_ASSERT(bound_s <= RackSplitSeconds(level, work, shares) + 1e-9);
  }
  const RackShares best = ShortestRackShares(level, work);
  RackShares by_rate;
  const double all = std::accumulate(work.rates.begin(), work.rates.end(), 0.0);
  for (const double rate : work.rates) by_rate.mapped.push_back(rate / all);
  by_rate.reduced = by_rate.mapped;
  RC_ASSERT(RackSplitSeconds(level, work, best) <= RackSplitSeconds(level, work, by_rate));
  RC_ASSERT(std::abs(std::accumulate(best.mapped.begin(), best.mapped.end(), 0.0) - 1) < 1e-9);
  RC_ASSERT(std::abs(std::accumulate(best.reduced.begin(), best.reduced.end(), 0.0) - 1) < 1e-9);
}

/// 10 GB that leave as much: `map_s` seconds a byte against 10 ns on the wire.
JobShape Shuffling(double map_s) {
  JobShape shape;
  shape.job = "terasort";
  shape.input_bytes = 10'000'000'000;
  shape.map_seconds_per_byte.value = map_s;
  shape.map_output_ratio.value = 1;
  shape.layers.resize(1);
  shape.layers[0].reduce_seconds_per_byte.value = 1e-9;
  return shape;
}

TEST(RackLoadsInPlansTest, UnequalRacksBehindThinWaysGetOtherLoads) {
  ClusterProfile cluster;
  cluster.network = RacksOf({6, 2}, 1);
  cluster.workers.resize(8);
  const JobShape shape = Shuffling(5e-9);
  const absl::StatusOr<Plan> even = EvenPlan(shape, cluster);
  const absl::StatusOr<Plan> plan = LoadPlan(shape, cluster);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_EQ(CheckPlan(*plan), absl::OkStatus());
  EXPECT_THAT(plan->summary.notes, Contains(HasSubstr("Loads are divided by racks")));
  EXPECT_LT(plan->summary.makespan_s, 0.9 * even->summary.makespan_s);
  EXPECT_GE(plan->summary.makespan_s, JobLowerBound(shape, cluster));
}

TEST(RackLoadsInPlansTest, TheBoundOfAJobKnowsItsRacks) {
  ClusterProfile cluster, open;
  cluster.network = RacksOf(std::vector<std::int32_t>(8, 4), 1);
  cluster.workers.resize(32);
  open = cluster;
  open.network.cuts.clear();
  // A rack that keeps m of all maps it in 37.5 m s and reduces it in 2.5 m s; what leaves the racks
  // takes 12.5 (1 - m) s: both are 9.6 s at m = 0.238.
  const JobShape shape = Shuffling(1.5e-8);
  EXPECT_NEAR(JobLowerBound(shape, cluster), 9.52, 0.05);
  EXPECT_GT(JobLowerBound(shape, cluster), 1.1 * JobLowerBound(shape, open));
  const absl::StatusOr<Plan> plan = LoadPlan(shape, cluster);
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_GE(plan->summary.makespan_s, JobLowerBound(shape, cluster));
}

}  // namespace
}  // namespace weir::planner
