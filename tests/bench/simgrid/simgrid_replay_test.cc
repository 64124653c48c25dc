// Schedules of planner/tree replayed on SimGrid: on an ideal crossbar its time is the predicted
// one.

#include <gtest/gtest.h>

#include <simgrid/s4u.hpp>

#include "tests/bench/simgrid/contenders.h"
#include "tests/bench/simgrid/plan_replay.h"
#include "tests/bench/simgrid/platform.h"

namespace weir::bench {
namespace {

constexpr std::int32_t kHosts = 8;

/// SimGrid is set up once a process: all tests share hosts and clock.
const std::vector<simgrid::s4u::Host*>& Hosts() {
  static const auto* const hosts = [] {
    static int argc = 1;
    static char name[] = "simgrid_replay_test";
    static char* argv[] = {name, nullptr};
    new simgrid::s4u::Engine(&argc, argv);
    ConfigureSimGrid();
    return new std::vector<simgrid::s4u::Host*>(BuildPlatform(Crossbar(kHosts)));
  }();
  return *hosts;
}

void ExpectPredicted(const absl::StatusOr<Contender>& contender) {
  ASSERT_TRUE(contender.ok()) << contender.status();
  ASSERT_GT(contender->predicted_s, 0);
  const absl::StatusOr<planner::Seconds> time_s = ReplayPlan(contender->plan, Hosts());
  ASSERT_TRUE(time_s.ok()) << time_s.status();
  EXPECT_NEAR(*time_s, contender->predicted_s, 0.02 * contender->predicted_s) << contender->name;
}

// Short elements, where latency counts, and long ones; an operation as quick and as slow as a link.
TEST(SimgridReplay, CrossbarTakesThePredictedTime) {
  for (const planner::Bytes bytes : {4096, 1'048'576}) {
    for (const double combine : {1e-10, 8e-10}) {
      const Reduction reduction{Crossbar(kHosts), bytes, combine};
      ExpectPredicted(Chosen(reduction, false, false));
      for (const std::string& name : FamilyNames()) ExpectPredicted(Family(name, reduction, false));
    }
  }
}

TEST(SimgridReplay, WhatItCannotReplayIsRefused) {
  absl::StatusOr<Contender> contender =
      Chosen(Reduction{Crossbar(kHosts), 1'048'576, 1e-10}, false, false);
  ASSERT_TRUE(contender.ok()) << contender.status();
  planner::Plan late = contender->plan;
  late.steps.front().release_s = 1;
  EXPECT_EQ(ReplayPlan(late, Hosts()).status().code(), absl::StatusCode::kUnimplemented);
  planner::Plan loose = contender->plan;
  loose.transfer_order = planner::TransferOrder::kOvertake;
  EXPECT_EQ(ReplayPlan(loose, Hosts()).status().code(), absl::StatusCode::kUnimplemented);
}

TEST(SimgridReplay, CutsOfAFatTreeAreItsUplinks) {
  const absl::StatusOr<FatTree> tree = QuarterBisection(64);
  ASSERT_TRUE(tree.ok()) << tree.status();
  const planner::NetworkModel network = NetworkOfTree(*tree, true);
  ASSERT_TRUE(planner::CheckNetwork(network).ok());
  ASSERT_EQ(network.cuts.size(), 16u);  // up and down of 8 leaves
  for (const planner::Cut& cut : network.cuts) EXPECT_EQ(cut.channels, 2);
  EXPECT_TRUE(planner::CutsCrossed(network, 0, 7).empty());
  EXPECT_EQ(planner::CutsCrossed(network, 0, 8).size(), 2u);
  EXPECT_FALSE(QuarterBisection(60).ok());
}

}  // namespace
}  // namespace weir::bench
