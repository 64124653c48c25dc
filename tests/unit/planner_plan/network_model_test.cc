#include "planner/plan/network_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace weir::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(NetworkModelTest, SlowerPortSetsTheRateOfAPair) {
  NetworkModel network;
  network.num_workers = 3;
  network.seconds_per_byte = 2;
  network.latency_s = 0.5;
  EXPECT_EQ(network.SecondsPerByte(0, 2), 2);
  network.port_slowdown = {1, 4, 3};
  EXPECT_EQ(network.SecondsPerByte(0, 2), 6);
  EXPECT_EQ(network.SecondsPerByte(2, 1), 8);
  EXPECT_EQ(network.TransferSeconds(0, 2, 10), 60.5);
}

TEST(NetworkModelTest, APortThatLagsTakesLongerAndIsPacedAsBefore) {
  NetworkModel network;
  network.num_workers = 3;
  network.seconds_per_byte = 2;
  network.port_lag = {1, 5, 2};
  EXPECT_EQ(network.SecondsPerByte(0, 1), 10);
  EXPECT_EQ(network.NominalSecondsPerByte(0, 1), 2);
  network.port_slowdown = {1, 2, 4};
  EXPECT_EQ(network.SecondsPerByte(0, 1), 20);
  EXPECT_EQ(network.SecondsPerByte(2, 0), 16);
  EXPECT_EQ(network.NominalSecondsPerByte(2, 1), 8);
}

TEST(NetworkModelTest, LimitedTotalIsCrossedByEveryPair) {
  const NetworkModel network = LimitedTotal(3, 1e-9, 2);
  ASSERT_TRUE(CheckNetwork(network).ok());
  EXPECT_EQ(network.cuts[0].channels, 2);
  EXPECT_THAT(CutsCrossed(network, 2, 0), ElementsAre(0));
}

TEST(NetworkModelTest, RackLocalPairCrossesNoCut) {
  NetworkModel network;
  network.num_workers = 4;
  network.cuts.push_back(
      Cut{"rack0 up", {true, true, false, false}, {false, false, true, true}, 1});
  network.cuts.push_back(
      Cut{"rack0 down", {false, false, true, true}, {true, true, false, false}, 1});
  EXPECT_THAT(CutsCrossed(network, 0, 1), IsEmpty());
  EXPECT_THAT(CutsCrossed(network, 0, 3), ElementsAre(0));
  EXPECT_THAT(CutsCrossed(network, 3, 0), ElementsAre(1));
}

TEST(NetworkModelTest, AKnownGapStandsForTheLatencyOfOrderedTransfers) {
  NetworkModel network = LimitedTotal(2, 1, 1);
  network.latency_s = 3;
  network.transfer_gap_s = 7;
  EXPECT_EQ(network.OrderedStartSeconds(), 7);
  EXPECT_EQ(network.TransferSeconds(0, 1, 10), 7 + 10);
  network.transfer_gap_s = 0;
  EXPECT_EQ(network.TransferSeconds(0, 1, 10), 3 + 10);
}

TEST(NetworkModelTest, CutsShareLikePortsUnlessMeasuredApart) {
  NetworkModel network = LimitedTotal(2, 1, 1);
  EXPECT_EQ(network.CutSharing(), 1);
  network.sharing_fraction = 0.9;
  EXPECT_EQ(network.CutSharing(), 0.9);
  network.cut_sharing_fraction = 0.8;
  EXPECT_EQ(network.CutSharing(), 0.8);
}

TEST(NetworkModelTest, OrderedTransfersGetThePacedRate) {
  NetworkModel network = LimitedTotal(2, 1, 1);
  network.latency_s = 3;
  network.port_slowdown = {1, 2};
  EXPECT_EQ(network.TransferSeconds(0, 1, 10), 3 + 20);
  network.pacing_fraction = 0.5;
  EXPECT_EQ(network.TransferSeconds(0, 1, 10), 3 + 40);
  EXPECT_EQ(network.SecondsPerByte(0, 1), 2);
}

struct BadNetwork {
  const char* field;
  void (*spoil)(NetworkModel&);
};

TEST(NetworkModelTest, EachBadFieldIsNamed) {
  const BadNetwork cases[] = {
      {"num_workers", [](NetworkModel& n) { n.num_workers = 0; }},
      {"seconds_per_byte", [](NetworkModel& n) { n.seconds_per_byte = -1; }},
      {"seconds_per_byte", [](NetworkModel& n) { n.seconds_per_byte = std::nan(""); }},
      {"seconds_per_byte", [](NetworkModel& n) { n.seconds_per_byte = 1e-300; }},
      {"latency_s", [](NetworkModel& n) { n.latency_s = std::numeric_limits<double>::infinity(); }},
      {"pacing_fraction", [](NetworkModel& n) { n.pacing_fraction = 0.05; }},
      {"pacing_fraction", [](NetworkModel& n) { n.pacing_fraction = 1.5; }},
      {"sharing_fraction", [](NetworkModel& n) { n.sharing_fraction = -1; }},
      {"cut_sharing_fraction", [](NetworkModel& n) { n.cut_sharing_fraction = 2; }},
      {"sharing_resent_fraction", [](NetworkModel& n) { n.sharing_resent_fraction = -0.1; }},
      {"transfer_gap_s", [](NetworkModel& n) { n.transfer_gap_s = -1; }},
      {"port_slowdown", [](NetworkModel& n) { n.port_slowdown = {1}; }},
      {"port_slowdown[1]",
       [](NetworkModel& n) {
         n.port_slowdown = {1, 0.5};
       }},
      {"port_lag", [](NetworkModel& n) { n.port_lag = {1}; }},
      {"port_lag[0]",
       [](NetworkModel& n) {
         n.port_lag = {0.5, 1};
       }},
      {"cuts[0]", [](NetworkModel& n) { n.cuts[0].from.pop_back(); }},
      {"channels", [](NetworkModel& n) { n.cuts[0].channels = 0; }},
  };
  for (const BadNetwork& bad : cases) {
    NetworkModel network = LimitedTotal(2, 1, 1);
    bad.spoil(network);
    const absl::Status status = CheckNetwork(network);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.field;
    EXPECT_THAT(std::string(status.message()), HasSubstr(bad.field));
  }
}

}  // namespace
}  // namespace weir::planner
