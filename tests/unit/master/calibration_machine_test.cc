#include "runtime/master/calibrate/calibration_machine.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/master/simulated_network.h"

namespace weir::master {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr double kRate = 1.2e7;

std::vector<std::string> CutNames(const CalibrationResult& result) {
  std::vector<std::string> names;
  for (const NamedCut& cut : result.spec.cuts) names.push_back(cut.name);
  return names;
}

std::vector<std::vector<std::string>> RackNames(const CalibrationResult& result) {
  std::vector<std::vector<std::string>> racks;
  for (const auto& rack : result.message.racks()) {
    racks.emplace_back(rack.workers().begin(), rack.workers().end());
  }
  return racks;
}

std::string Notes(const CalibrationResult& result) {
  return absl::StrJoin(result.message.notes(), "\n");
}

TEST(CalibrationMachine, ASwitchWithoutLimitHasNoCuts) {
  SimulatedNetwork network = RacksNetwork(std::vector<int>(8, 0), kRate, {0}, {0});
  const CalibrationResult result = Calibrate(network);
  EXPECT_NEAR(result.spec.channel_bytes_per_s, kRate, kRate * 1e-6);
  EXPECT_NEAR(result.spec.latency_s, 5e-4, 1e-9);
  EXPECT_THAT(result.spec.cuts, IsEmpty());
  EXPECT_THAT(result.spec.port_bytes_per_s, IsEmpty());
  EXPECT_THAT(Notes(result), HasSubstr("no limit beyond the ports: 8 transfers"));
}

TEST(CalibrationMachine, TwoRacksBehindTwoChannels) {
  SimulatedNetwork network =
      RacksNetwork({0, 0, 0, 0, 1, 1, 1, 1}, kRate, {2 * kRate, 2 * kRate}, {2 * kRate, 2 * kRate});
  const CalibrationResult result = Calibrate(network);
  EXPECT_THAT(RackNames(result), ElementsAre(ElementsAre("w00", "w01", "w02", "w03"),
                                             ElementsAre("w04", "w05", "w06", "w07")));
  EXPECT_THAT(CutNames(result),
              ElementsAre("rack w00 up", "rack w00 down", "rack w04 up", "rack w04 down"));
  for (const auto& cut : result.message.cuts()) {
    EXPECT_EQ(cut.channels(), 2);
    EXPECT_NEAR(cut.measured_channels(), 2, 0.01);
  }
  EXPECT_THAT(Notes(result), HasSubstr("at 100 % of what these numbers say"));
  EXPECT_TRUE(ParseNetworkSpec(result.message.spec_json()).ok());
}

TEST(CalibrationMachine, UpAndDownAreToldApartAndRoundedToWholeChannels) {
  // Four racks; the first can send 1.4 channels and receive 3.
  SimulatedNetwork network = RacksNetwork({0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}, kRate,
                                          {1.4 * kRate, 0, 0, 0}, {3 * kRate, 0, 0, 0});
  const CalibrationResult result = Calibrate(network);
  // The others are one rack as far as limits go: what it sends, the first receives.
  ASSERT_EQ(RackNames(result).size(), 2u);
  EXPECT_THAT(RackNames(result)[0], ElementsAre("w00", "w01", "w02", "w03"));
  ASSERT_THAT(CutNames(result),
              ElementsAre("rack w00 up", "rack w00 down", "rack w04 up", "rack w04 down"));
  EXPECT_EQ(result.message.cuts(0).channels(), 1);
  EXPECT_NEAR(result.message.cuts(0).measured_channels(), 1.4, 0.02);
  EXPECT_EQ(result.message.cuts(1).channels(), 3);
}

TEST(CalibrationMachine, OneLimitedTotal) {
  for (const double channels : {1.0, 2.0, 4.0}) {
    SimulatedNetwork network = TotalNetwork(8, kRate, channels * kRate);
    const CalibrationResult result = Calibrate(network);
    EXPECT_THAT(RackNames(result), IsEmpty());
    ASSERT_THAT(CutNames(result), ElementsAre("total"));
    EXPECT_NEAR(result.message.cuts(0).measured_channels(), channels, 0.01);
  }
}

TEST(CalibrationMachine, RacksWhoseNamesAlternate) {
  SimulatedNetwork network =
      RacksNetwork({0, 1, 0, 1, 0, 1, 0, 1}, kRate, {kRate, kRate}, {kRate, kRate});
  const CalibrationResult result = Calibrate(network);
  EXPECT_THAT(RackNames(result), ElementsAre(ElementsAre("w00", "w02", "w04", "w06"),
                                             ElementsAre("w01", "w03", "w05", "w07")));
}

TEST(CalibrationMachine, UnequalRacksAndAnOddNumber) {
  SimulatedNetwork network =
      RacksNetwork({0, 0, 1, 1, 1, 1, 1}, kRate, {kRate, kRate}, {kRate, kRate});
  const CalibrationResult result = Calibrate(network);
  EXPECT_THAT(RackNames(result), ElementsAre(ElementsAre("w00", "w01"),
                                             ElementsAre("w02", "w03", "w04", "w05", "w06")));
}

TEST(CalibrationMachine, SlowPortsAreFoundAndDoNotPassForALimit) {
  SimulatedNetwork network = RacksNetwork(std::vector<int>(8, 0), kRate, {0}, {0});
  network.up[3] = network.down[3] = kRate / 4;
  network.down[6] = kRate / 2;
  const CalibrationResult result = Calibrate(network);
  EXPECT_NEAR(result.spec.channel_bytes_per_s, kRate, kRate * 1e-6);
  ASSERT_EQ(result.spec.port_bytes_per_s.size(), 2u);
  EXPECT_NEAR(result.spec.port_bytes_per_s.at("w03"), kRate / 4, 1);
  EXPECT_NEAR(result.spec.port_bytes_per_s.at("w06"), kRate / 2, 1);
  EXPECT_FALSE(result.message.ports(2).slow()) << "a neighbour of a slow one";
  EXPECT_THAT(result.spec.cuts, IsEmpty());
}

TEST(CalibrationMachine, ASlowHostOfARackIsNamedAndTheLimitsAreFoundAllTheSame) {
  SimulatedNetwork network =
      RacksNetwork({0, 0, 0, 0, 1, 1, 1, 1}, kRate, {2 * kRate, 2 * kRate}, {2 * kRate, 2 * kRate});
  network.up[3] = network.down[3] = kRate / 4;
  const CalibrationResult result = Calibrate(network);
  EXPECT_THAT(RackNames(result), ElementsAre(ElementsAre("w00", "w01", "w02"), ElementsAre("w03"),
                                             ElementsAre("w04", "w05", "w06", "w07")));
  EXPECT_THAT(Notes(result), HasSubstr("the rack of w03 is not determined"));
  ASSERT_EQ(CutNames(result).size(), 4u);
  for (const auto& cut : result.message.cuts()) EXPECT_EQ(cut.channels(), 2);
}

// Whom its workers could load their link with have all slow ports, so that a round of its capacity
// would have no transfer, and nobody to answer it.
TEST(CalibrationMachine, ARackAmongSlowPortsOnlyHasNoRoundOfItsCapacity) {
  SimulatedNetwork network = RacksNetwork({0, 0, 0, 0, 1, 1, 1, 1}, 125e6, {0, 25e6}, {0, 25e6});
  for (const std::size_t slow : {4u, 5u, 6u, 7u}) network.up[slow] = network.down[slow] = 12.5e6;
  MonoTime now = MonoTime::FromNanos(5);
  CalibrationMachine calibration(WorkerNames(8), absl::Seconds(120), 7, now);
  while (const std::optional<ProbeRound> round = calibration.Next(now)) {
    ASSERT_THAT(round->flows, Not(IsEmpty())) << round->doing;
    now = now + absl::Seconds(round->Seconds());
    calibration.Take(network.Run(*round));
  }
  EXPECT_THAT(Notes(calibration.Result(now)),
              HasSubstr("the capacity of the rack of w00 is not determined"));
}

TEST(CalibrationMachine, OfThreeWorkersTheSlowOneIsFound) {
  SimulatedNetwork network = RacksNetwork({0, 0, 0}, kRate, {0}, {0});
  network.up[1] = network.down[1] = kRate / 10;
  const CalibrationResult result = Calibrate(network);
  EXPECT_NEAR(result.spec.channel_bytes_per_s, kRate, kRate * 1e-6);
  EXPECT_EQ(result.spec.port_bytes_per_s.size(), 1u);
  EXPECT_TRUE(result.spec.port_bytes_per_s.contains("w01"));
}

TEST(CalibrationMachine, TwoWorkersOnAHalfDuplexLink) {
  SimulatedNetwork network = TotalNetwork(2, kRate, kRate);
  const CalibrationResult result = Calibrate(network);
  EXPECT_NEAR(result.spec.channel_bytes_per_s, kRate, kRate * 1e-6);
  ASSERT_THAT(CutNames(result), ElementsAre("total"));
  EXPECT_EQ(result.spec.cuts[0].channels, 1);
}

TEST(CalibrationMachine, ThreeWorkersShowATotalOfTwoInARing) {
  SimulatedNetwork network = TotalNetwork(3, kRate, 2 * kRate);
  const CalibrationResult result = Calibrate(network);
  ASSERT_THAT(CutNames(result), ElementsAre("total"));
  EXPECT_EQ(result.spec.cuts[0].channels, 2);
}

TEST(CalibrationMachine, RacksAndATotal) {
  SimulatedNetwork network =
      RacksNetwork({0, 0, 0, 0, 1, 1, 1, 1}, kRate, {kRate, kRate}, {kRate, kRate});
  network.model.cuts.push_back(
      {"total", std::vector<bool>(8, true), std::vector<bool>(8, true), 1});
  network.cut_rate.push_back(5 * kRate);
  const CalibrationResult result = Calibrate(network);
  EXPECT_THAT(RackNames(result), ElementsAre(ElementsAre("w00", "w01", "w02", "w03"),
                                             ElementsAre("w04", "w05", "w06", "w07")));
  ASSERT_EQ(CutNames(result).back(), "total");
  EXPECT_EQ(result.spec.cuts.back().channels, 5);
}

TEST(CalibrationMachine, FindsTheGapBetweenTransfersOfAnOrder) {
  SimulatedNetwork network =
      RacksNetwork({0, 0, 0, 0, 1, 1, 1, 1}, kRate, {2 * kRate, 2 * kRate}, {2 * kRate, 2 * kRate});
  network.gap_s = 5e-3;
  const CalibrationResult result = Calibrate(network);
  EXPECT_NEAR(result.spec.transfer_gap_s, 5e-3, 1e-6);
  const auto again = ParseNetworkSpec(result.message.spec_json());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_NEAR(again->transfer_gap_s, 5e-3, 1e-6);
}

// Eight workers each to each other: a core of two channels needs 8 sections' time, a port 7.
TEST(CalibrationMachine, SharesOfPortsAndCutsAreToldApart) {
  SimulatedNetwork network =
      RacksNetwork({0, 0, 0, 0, 1, 1, 1, 1}, kRate, {2 * kRate, 2 * kRate}, {2 * kRate, 2 * kRate});
  network.port_sharing = 0.97;
  network.cut_sharing = 0.8;
  network.resent_fraction = 0.05;
  network.queue_s = 0.02;
  const CalibrationResult result = Calibrate(network);
  EXPECT_NEAR(result.spec.sharing_fraction, 0.97, 1e-3);
  EXPECT_NEAR(result.spec.cut_sharing_fraction, 0.8, 1e-3);
  EXPECT_NEAR(result.spec.sharing_resent_fraction, 0.05, 1e-6);
  const auto& sharing = result.message.sharing();
  EXPECT_EQ(sharing.workers(), 8);
  EXPECT_EQ(sharing.segments_resent() * 20, sharing.segments_sent());
  EXPECT_NEAR(sharing.port_queue_bytes(), 0.02 * kRate, 1);
  EXPECT_NEAR(sharing.cut_queue_bytes(), 0.02 * 2 * kRate, 1);
}

TEST(CalibrationMachine, WithoutCutsOneShareIsForAll) {
  SimulatedNetwork network = RacksNetwork(std::vector<int>(5, 0), kRate, {0}, {0});
  network.port_sharing = 0.9;
  const CalibrationResult result = Calibrate(network);
  EXPECT_NEAR(result.spec.sharing_fraction, 0.9, 1e-3);
  EXPECT_EQ(result.spec.cut_sharing_fraction, 0);
}

TEST(CalibrationMachine, TwoWorkersShowNeitherGapNorSharing) {
  SimulatedNetwork network = RacksNetwork({0, 0}, kRate, {0}, {0});
  const CalibrationResult result = Calibrate(network);
  EXPECT_EQ(result.spec.transfer_gap_s, 0);
  EXPECT_EQ(result.spec.sharing_fraction, 0);
  EXPECT_THAT(result.message.spec_json(), Not(HasSubstr("sharing")));
}

// Sanitizers see a number of bytes that no integer holds.
TEST(CalibrationMachine, WhereNothingMovesNoShuffleIsTried) {
  MonoTime now = MonoTime::FromNanos(5);
  CalibrationMachine calibration(WorkerNames(4), absl::Seconds(600), 7, now);
  while (const std::optional<ProbeRound> round = calibration.Next(now)) {
    EXPECT_EQ(round->bytes, 0) << round->doing;
    now = now + absl::Seconds(round->Seconds());
    RoundOutcome outcome;
    outcome.flows.resize(round->flows.size());
    outcome.took_s = round->Seconds();
    calibration.Take(outcome);
  }
  const CalibrationResult result = calibration.Result(now);
  EXPECT_EQ(result.message.sharing().workers(), 0);
  EXPECT_THAT(Notes(result), HasSubstr("the channel rate is not determined"));
}

TEST(CalibrationMachine, StopsInTimeAndSaysWhatIsMissing) {
  SimulatedNetwork network =
      RacksNetwork({0, 0, 0, 0, 1, 1, 1, 1}, kRate, {kRate, kRate}, {kRate, kRate});
  const CalibrationResult nothing = Calibrate(network, absl::Seconds(0.1));
  EXPECT_THAT(Notes(nothing), HasSubstr("the channel rate is not determined"));
  EXPECT_EQ(nothing.spec.channel_bytes_per_s, 0);
  const CalibrationResult rate = Calibrate(network, absl::Seconds(2));
  EXPECT_NEAR(rate.spec.channel_bytes_per_s, kRate, kRate * 1e-6);
  EXPECT_THAT(Notes(rate), HasSubstr("limits of the network are not determined"));
  EXPECT_THAT(Notes(rate), HasSubstr("--seconds"));
}

TEST(CalibrationMachine, FiveHundredWorkersTakeBoundedTime) {
  std::vector<int> rack_of;
  for (int w = 0; w < 500; ++w) rack_of.push_back(w / 50);
  SimulatedNetwork network = RacksNetwork(rack_of, kRate, std::vector<double>(10, 25 * kRate),
                                          std::vector<double>(10, 25 * kRate));
  const CalibrationResult result = Calibrate(network, absl::Seconds(120));
  EXPECT_LE(result.message.seconds(), 121);
  EXPECT_NEAR(result.spec.channel_bytes_per_s, kRate, kRate * 1e-6);
  EXPECT_EQ(result.message.racks_size(), 10) << Notes(result);
  for (const auto& cut : result.message.cuts()) EXPECT_EQ(cut.channels(), 25);
}

}  // namespace
}  // namespace weir::master
