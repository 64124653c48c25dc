// Reductions of machines in racks: valid under every port model, within the lanes, crossing from
// rack to rack no more than they say, and never below what a cut and a port need.

#include "planner/tree/segments/rack_schedules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "planner/tree/choice/operand_order.h"
#include "planner/tree/hosts/lane_clock.h"
#include "planner/tree/model/schedule_timing.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/segments/rabenseifner.h"
#include "tests/unit/planner_tree/rack_networks.h"
#include "tests/unit/planner_tree/schedule_validator.h"

namespace weir::planner::tree {
namespace {

constexpr RackShape kShapes[] = {RackShape::kBinomial, RackShape::kPipeline, RackShape::kTwoTree};

// Every schedule of the header for these racks.
std::vector<Schedule> AllFor(const Racks& racks, std::vector<double> units,
                             const RackCosts& costs) {
  std::vector<Schedule> all;
  const double total = std::accumulate(units.begin(), units.end(), 0.0);
  const auto parts = static_cast<std::int32_t>(units.size());
  const auto add = [&](absl::StatusOr<Schedule> schedule) {
    ASSERT_TRUE(schedule.ok()) << schedule.status();
    all.push_back(*std::move(schedule));
  };
  for (const RackShape shape : kShapes) add(RackTreeSchedule(racks, shape, units, costs));
  add(NearFirstSchedule(racks, total, parts, costs));
  for (std::int32_t rails = 1; rails <= MostRails(racks); rails *= 2)
    add(RackRailsSchedule(racks, total, rails, parts, costs));
  return all;
}

TEST(RackSchedules, EveryOneIsValidAndKeepsToTheLanes) {
  std::mt19937_64 random(22);
  for (int k = 0; k < 1500; ++k) {
    const NetworkModel network = RandomRacks(random);
    const auto root = static_cast<MachineIndex>(random() % At(network.num_workers));
    const Racks racks = RacksOf(network, root);
    const PortModel ports{random() % 2 == 0, random() % 2 == 0, random() % 4 != 0};
    const LinkCosts link{static_cast<double>(random() % 3), static_cast<double>(1 + random() % 2),
                         static_cast<double>(random() % 3)};
    std::vector<double> units(1 + random() % 4);
    for (double& size : units) size = static_cast<double>(1 + random() % 3);
    for (const Schedule& schedule : AllFor(racks, units, {link, ports, network})) {
      ASSERT_EQ(schedule.root, root) << schedule.method;
      ASSERT_EQ(ScheduleFault(schedule, ports), "")
          << schedule.method << " p " << network.num_workers << " racks " << racks.size();
      ASSERT_EQ(LaneFault(schedule, network), "") << schedule.method;
    }
  }
}

// One port takes the element, and so does the narrowest way into the root's rack; d and c of one
// message are the least that an end takes.
TEST(RackSchedules, NoneIsShorterThanPortsAndCutsAllow) {
  std::mt19937_64 random(23);
  for (int k = 0; k < 500; ++k) {
    const NetworkModel network = RandomRacks(random);
    if (network.num_workers < 2) continue;
    const Racks racks = RacksOf(network, 0);
    const LinkCosts link{1, 1, 1};
    for (const Schedule& schedule : AllFor(racks, {6, 6}, {link, PortModel{}, network})) {
      const double levels = static_cast<double>(CeilLog2(network.num_workers));
      ASSERT_GE(schedule.makespan_s, 12 + levels) << schedule.method;
    }
  }
}

// Units that leave a rack.
std::vector<double> SentOut(const Schedule& schedule, const NetworkModel& network) {
  const std::vector<std::int32_t> side = SidesOfCuts(network);
  std::vector<double> out(network.cuts.size() / 2, 0);
  for (const Message& message : schedule.messages) {
    if (side[At(message.sender)] == side[At(message.receiver)]) continue;
    for (std::int32_t j = message.segment_begin; j < message.segment_end; ++j)
      out[At(side[At(message.sender)])] += schedule.segment_units[At(j)];
  }
  return out;
}

TEST(RackSchedules, ARackSendsTheElementOnce) {
  const NetworkModel network = RackNetwork({4, 4, 4, 4, 4, 4, 4, 4}, 1);
  const Racks racks = RacksOf(network, 0);
  const RackCosts costs{{1, 1, 0}, PortModel{}, network};
  for (const RackShape shape : kShapes) {
    const Schedule schedule = *RackTreeSchedule(racks, shape, EqualSegments(8, 4), costs);
    const std::vector<double> out = SentOut(schedule, network);
    EXPECT_EQ(out[0], 0) << schedule.method;
    for (std::size_t rack = 1; rack < out.size(); ++rack) {
      // The line enters the root's rack last, and the tree's inner racks pass nothing on but sums.
      EXPECT_EQ(out[rack], 8) << schedule.method << " " << rack;
    }
  }
  // Halves within the racks go first: over 32 machines in racks of four, each sends out
  // 1/8 + 1/16 + 1/32 of the element in the exchange, and its piece in the gather.
  const Schedule near = *NearFirstSchedule(racks, 32, 1, costs);
  const Schedule far = *RabenseifnerSchedule(32, 32, costs.link, costs.ports);
  for (std::size_t rack = 1; rack < 8; ++rack) {
    EXPECT_LE(SentOut(near, network)[rack], 2 * 32);
    EXPECT_GT(SentOut(far, network)[rack], 3 * 32);
  }
  for (const std::int32_t rails : {1, 2, 4}) {
    const Schedule schedule = *RackRailsSchedule(racks, 32, rails, 2, costs);
    for (std::size_t rack = 1; rack < 8; ++rack)
      EXPECT_EQ(SentOut(schedule, network)[rack], 32) << schedule.method;
  }
}

TEST(RackSchedules, TheTwoTreeLoadsEveryPortAboutOnce) {
  for (const std::int32_t size : {1, 2, 3, 4, 5, 8, 16}) {
    for (const std::int32_t count : {1, 2, 3, 4, 7, 8, 16}) {
      const NetworkModel network = RackNetwork(std::vector<std::int32_t>(At(count), size), 1);
      std::vector<int> received(At(network.num_workers), 0);
      for (const Receivers& tree : RackTrees(RacksOf(network, 0), RackShape::kTwoTree)) {
        for (const MachineIndex to : tree) {
          if (to != kNoMachine) ++received[At(to)];
        }
      }
      EXPECT_LE(*std::max_element(received.begin(), received.end()), size % 2 == 0 ? 3 : 4)
          << count << " racks of " << size;
    }
  }
}

// Where a rack has one channel, the line takes the time of a port, and the two-tree, whose halves
// wait for each other at the cut, some 2.2 of it (measured); a binomial tree takes one a level at
// the root.
TEST(RackSchedules, TwoTreeAndLineFillANarrowCut) {
  const NetworkModel network = RackNetwork({4, 4, 4, 4}, 1);
  const Racks racks = RacksOf(network, 0);
  const RackCosts costs{{0.01, 1, 0.1}, PortModel{}, network};
  const auto length_s = [&](RackShape shape) {
    return RackTreeSchedule(racks, shape, EqualSegments(1000, 100), costs)->makespan_s;
  };
  EXPECT_LE(length_s(RackShape::kPipeline), 1.2 * 1000);
  EXPECT_LE(length_s(RackShape::kTwoTree), 2.5 * 1000);
  EXPECT_GE(length_s(RackShape::kBinomial), 3.9 * 1000);
}

TEST(RackSchedules, LinesAndBinomialTreesKeepTheOrderOfRanges) {
  for (const std::vector<std::int32_t>& sizes : std::vector<std::vector<std::int32_t>>{
           {1}, {3}, {2, 2}, {4, 4, 4}, {5, 3, 1, 2}, {6, 6, 6, 6, 6}}) {
    const NetworkModel network = RackNetwork(sizes, 1);
    const RackCosts costs{{1, 1, 1}, PortModel{}, network};
    for (const RackShape shape : {RackShape::kBinomial, RackShape::kPipeline}) {
      const Schedule schedule =
          *RackTreeSchedule(RacksOf(network, 0), shape, EqualSegments(6, 3), costs);
      EXPECT_EQ(CheckOrderPreserved(schedule), absl::OkStatus());
    }
  }
  const NetworkModel network = RackNetwork({4, 4, 4}, 1);
  EXPECT_FALSE(
      CheckOrderPreserved(*RackTreeSchedule(RacksOf(network, 0), RackShape::kTwoTree,
                                            EqualSegments(6, 2), {{1, 1, 1}, PortModel{}, network}))
          .ok());
}

// Exhaustive: all orders of the messages of one tree on few machines, each started as early as it
// can, against the earliest first. The greedy order is never better, and at most a half longer.
TEST(RackSchedules, EarliestFirstIsNearTheBestOrder) {
  const NetworkModel network = RackNetwork({2, 3}, 1);
  const Racks racks = RacksOf(network, 0);
  std::mt19937_64 random(24);
  for (int k = 0; k < 40; ++k) {
    const LinkCosts link{static_cast<double>(random() % 3), 1, static_cast<double>(random() % 3)};
    const RackCosts costs{link, PortModel{}, network};
    const Schedule schedule = *RackTreeSchedule(
        racks, kShapes[random() % 3], {1.0 + static_cast<double>(random() % 3), 1}, costs);
    const double best_s = BestOrderLength(schedule, costs.ports, network);
    EXPECT_GE(schedule.makespan_s, best_s - 1e-9) << schedule.method;
    EXPECT_LE(schedule.makespan_s, 1.5 * best_s + 1e-9) << schedule.method;
  }
}

TEST(RackSchedules, WhatDoesNotFitIsNamed) {
  const NetworkModel network = RackNetwork({2, 2}, 1);
  const RackCosts costs{{1, 1, 1}, PortModel{}, network};
  const Racks racks = RacksOf(network, 0);
  const auto message = [](const absl::StatusOr<Schedule>& schedule) {
    EXPECT_EQ(schedule.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(schedule.status().message());
  };
  EXPECT_NE(message(NearFirstSchedule(racks, 1, 0, costs)).find("parts"), std::string::npos);
  EXPECT_NE(message(NearFirstSchedule(racks, 1, 1 << 24, costs)).find("p"), std::string::npos);
  EXPECT_NE(message(RackRailsSchedule(racks, 1, 3, 1, costs)).find("rails"), std::string::npos);
  EXPECT_NE(message(RackTreeSchedule({{0, 1}, {1, 2}}, RackShape::kBinomial, {1}, costs))
                .find("machine 1"),
            std::string::npos);
  EXPECT_NE(message(RackTreeSchedule({{0, 1}}, RackShape::kBinomial, {1}, costs)).find("workers"),
            std::string::npos);
}

TEST(Racks, AreTheMachinesOnTheSameSides) {
  const NetworkModel network = RackNetwork({2, 3, 1}, 1);
  EXPECT_EQ(RacksOf(network, 3), (Racks{{3, 2, 4}, {0, 1}, {5}}));
  NetworkModel flat;
  flat.num_workers = 3;
  EXPECT_EQ(RacksOf(flat, 1), (Racks{{1, 0, 2}}));
}

}  // namespace
}  // namespace weir::planner::tree
