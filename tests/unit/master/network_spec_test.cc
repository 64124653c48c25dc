#include "runtime/master/options/network_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weir::master {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kFour = {"w0", "w1", "w2", "w3"};

planner::NetworkModel Empty(std::size_t workers) {
  planner::NetworkModel network;
  network.num_workers = static_cast<std::int32_t>(workers);
  network.seconds_per_byte = 1e-8;
  return network;
}

TEST(NetworkSpec, RackIsOneCutUpAndOneDown) {
  const auto spec = ParseNetworkSpec(
      R"({"schema":1,"racks":[{"name":"a","workers":["w0","w1"],"up_channels":2,"down_channels":1}]})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  planner::NetworkModel network = Empty(4);
  ApplyNetworkSpec(*spec, kFour, network);
  ASSERT_EQ(network.cuts.size(), 2u);
  EXPECT_EQ(network.cuts[0].name, "rack a up");
  EXPECT_EQ(network.cuts[0].channels, 2);
  EXPECT_TRUE(network.cuts[0].Crosses(0, 2));
  EXPECT_FALSE(network.cuts[0].Crosses(0, 1));
  EXPECT_FALSE(network.cuts[0].Crosses(2, 0));
  EXPECT_TRUE(network.cuts[1].Crosses(3, 1));
  EXPECT_EQ(network.cuts[1].channels, 1);
  EXPECT_TRUE(planner::CheckNetwork(network).ok());
}

TEST(NetworkSpec, TotalRatesAndSlowPorts) {
  const auto spec = ParseNetworkSpec(
      R"({"schema":1,"channel_bytes_per_s":1000,"latency_s":0.5,"port_bytes_per_s":{"w3":250,"w1":9999,"gone":1},
          "total_channels":3})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  planner::NetworkModel network = Empty(4);
  ApplyNetworkSpec(*spec, kFour, network);
  EXPECT_DOUBLE_EQ(network.seconds_per_byte, 1e-3);
  EXPECT_DOUBLE_EQ(network.latency_s, 0.5);
  EXPECT_EQ(network.port_slowdown, (std::vector<double>{1, 1, 1, 4}));
  ASSERT_EQ(network.cuts.size(), 1u);
  EXPECT_TRUE(network.cuts[0].Crosses(1, 2));
}

TEST(NetworkSpec, CutsOfAbsentWorkersAreLeftOut) {
  const auto spec = ParseNetworkSpec(
      R"({"schema":1,"cuts":[{"from":["x"],"to":"rest","channels":1},{"from":"rest","to":["w1"],"channels":1}]})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  planner::NetworkModel network = Empty(4);
  ApplyNetworkSpec(*spec, kFour, network);
  ASSERT_EQ(network.cuts.size(), 1u);
  EXPECT_TRUE(network.cuts[0].Crosses(0, 1));
  EXPECT_FALSE(network.cuts[0].Crosses(1, 0));
}

TEST(NetworkSpec, WrittenOutItReadsTheSame) {
  const auto spec = ParseNetworkSpec(
      R"({"schema":1,"channel_bytes_per_s":12,"total_channels":3,
          "racks":[{"workers":["w0"],"up_channels":2,"down_channels":1}]})");
  ASSERT_TRUE(spec.ok());
  const std::string json = NetworkSpecJson(*spec);
  const auto again = ParseNetworkSpec(json);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(NetworkSpecJson(*again), json);
}

TEST(NetworkSpec, WhatIsPreferredGoesFirstAndTheRestIsFilledIn) {
  NetworkSpec flags;
  flags.latency_s = 0.002;
  NetworkSpec measured = *ParseNetworkSpec(
      R"({"schema":1,"channel_bytes_per_s":1e7,"latency_s":0.001,"port_bytes_per_s":{"a":1e6},
          "racks":[{"name":"x y","workers":["a","b"],"up_channels":2,"down_channels":1}],
          "total_channels":4})");
  const NetworkSpec both = Overlay(flags, measured);
  EXPECT_EQ(both.latency_s, 0.002);
  EXPECT_EQ(both.channel_bytes_per_s, 1e7);
  EXPECT_EQ(both.cuts.size(), 3u);
  EXPECT_EQ(PortRate(both, "a"), 1e6);
  EXPECT_EQ(PortRate(both, "b"), 1e7);
  EXPECT_EQ(RackOf(both, "b"), "x y");
  EXPECT_EQ(RackOf(both, "c"), "");
  EXPECT_EQ(TakeTotal(measured), 4);
  EXPECT_EQ(measured.cuts.size(), 2u);
  EXPECT_EQ(TakeTotal(measured), 0);
  NetworkSpec file = *ParseNetworkSpec(R"({"schema":1,"total_channels":9})");
  EXPECT_EQ(Overlay(file, both).cuts.size(), 1u) << "cuts are taken as a whole";
}

TEST(NetworkSpec, WhatSharingCostsIsOneThingAndTheGapAnother) {
  const auto measured = ParseNetworkSpec(
      R"({"schema":1,"sharing_fraction":0.9,"cut_sharing_fraction":0.8,
          "sharing_resent_fraction":0.01,"transfer_gap_s":0.005})");
  ASSERT_TRUE(measured.ok()) << measured.status();
  const auto file = ParseNetworkSpec(R"({"schema":1,"sharing_fraction":0.7})");
  ASSERT_TRUE(file.ok()) << file.status();
  planner::NetworkModel network = Empty(4);
  ApplyNetworkSpec(Overlay(*file, *measured), kFour, network);
  EXPECT_EQ(network.sharing_fraction, 0.7);
  EXPECT_EQ(network.CutSharing(), 0.7) << "the file's share is that of cuts as well";
  EXPECT_EQ(network.sharing_resent_fraction, 0);
  EXPECT_EQ(network.transfer_gap_s, 0.005);
  const auto again = ParseNetworkSpec(NetworkSpecJson(*measured));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->cut_sharing_fraction, 0.8);
  EXPECT_EQ(again->sharing_resent_fraction, 0.01);
}

TEST(NetworkSpec, WrongInputNamesFieldValueAndWhatIsLegal) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"{", "JSON"},
      {"[]", "an object"},
      {R"({"schema":2})", "schema is 2"},
      {R"({"schema":1,"chanel":1})", "file.chanel"},
      {R"({"schema":1,"channel_bytes_per_s":0})", "channel_bytes_per_s is 0"},
      {R"({"schema":1,"channel_bytes_per_s":"fast"})", "fast"},
      {R"({"schema":1,"latency_s":-1})", "latency_s is -1"},
      {R"({"schema":1,"total_channels":0})", "total_channels is 0"},
      {R"({"schema":1,"racks":{}})", "racks is {}"},
      {R"({"schema":1,"racks":[{"workers":[],"up_channels":1,"down_channels":1}]})",
       "racks[0].workers"},
      {R"({"schema":1,"racks":[{"workers":["a"],"up_channels":1}]})", "racks[0].down_channels"},
      {R"({"schema":1,"cuts":[{"from":"rest","to":"rest","channels":1}]})", "cuts[0].from"},
      {R"({"schema":1,"cuts":[{"from":"some","to":"all","channels":1}]})", "cuts[0].from"},
      {R"({"schema":1,"cuts":[{"from":["a"],"to":"all","channels":1.5}]})",
       "cuts[0].channels is 1.5"},
      {R"({"schema":1,"port_bytes_per_s":{"a":0}})", "port_bytes_per_s.a"},
      {R"({"schema":1,"sharing_fraction":0})", "sharing_fraction is 0"},
      {R"({"schema":1,"cut_sharing_fraction":1.5})", "cut_sharing_fraction is 1.5"},
      {R"({"schema":1,"sharing_resent_fraction":2})", "sharing_resent_fraction is 2"},
      {R"({"schema":1,"transfer_gap_s":-1})", "transfer_gap_s is -1"},
  };
  for (const auto& [json, needle] : wrong) {
    const auto spec = ParseNetworkSpec(json);
    EXPECT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument) << json;
    EXPECT_THAT(std::string(spec.status().message()), HasSubstr(needle)) << json;
  }
}

}  // namespace
}  // namespace weir::master
