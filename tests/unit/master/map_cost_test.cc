// What input and output cost a mapper, told apart: against costs that are known.

#include "runtime/master/sample/map_cost.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace weir::master {
namespace {

MapSums Sums(double work, double made, const MapCost& cost) {
  return {work, made, cost.seconds_per_byte * work + cost.seconds_per_output_byte * made};
}

// The large sample, the small one once more, and that four times over.
std::vector<MapSums> Rounds(const MapCost& cost) {
  return {Sums(4e6, 14e5, cost), Sums(1e6, 5e5, cost), Sums(4e6, 5e5, cost)};
}

TEST(MapCostTest, FindsBoth) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> of_input(1e-9, 1e-8);
  std::uniform_real_distribution<double> of_output(1e-9, 2e-8);
  for (int i = 0; i < 200; ++i) {
    const MapCost truth{of_input(random), of_output(random)};
    const MapCost found = FitMapCost(Rounds(truth), true);
    if (truth.seconds_per_byte * 4e6 < 0.15 * (truth.seconds_per_output_byte * 14e5)) continue;
    EXPECT_NEAR(found.seconds_per_byte, truth.seconds_per_byte, 1e-12);
    EXPECT_NEAR(found.seconds_per_output_byte, truth.seconds_per_output_byte, 1e-12);
  }
}

TEST(MapCostTest, NoiseOfATenthStaysSmallInChunksAHundredTimesAsLarge) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> noise(0.9, 1.1);
  const MapCost truth{4e-9, 8e-9};
  for (int i = 0; i < 200; ++i) {
    std::vector<MapSums> rounds = Rounds(truth);
    for (MapSums& round : rounds) round.seconds *= noise(random);
    const MapCost found = FitMapCost(rounds, true);
    const double real_s = 4e-9 * 4e8 + 8e-9 * 1e7;
    EXPECT_NEAR(found.seconds_per_byte * 4e8 + found.seconds_per_output_byte * 1e7, real_s,
                0.25 * real_s);
  }
}

TEST(MapCostTest, KeysThatAreAllThereCostWhatFindingThemAgainTakes) {
  const MapCost truth{0.8e-9, 12e-9};
  std::vector<MapSums> rounds = {Sums(4e6, 4e5, truth), Sums(1e6, 4e5, truth),
                                 Sums(4e6, 4e5, truth)};
  EXPECT_NEAR(FitMapCostOfKnownKeys(rounds, 1).seconds_per_byte, 0.8e-9, 1e-12);
  EXPECT_NEAR(FitMapCostOfKnownKeys(rounds, 0.75).seconds_per_byte, 0.6e-9, 1e-12);
  rounds[0].seconds += 3e-3;  // of places, keys and input that no cache has yet: 1e-9 s a byte
  const MapCost found = FitMapCostOfKnownKeys(rounds, 1);
  EXPECT_NEAR(found.seconds_per_byte, 0.9e-9, 1e-12);
  EXPECT_NEAR(found.seconds_per_byte * 1e6 + found.seconds_per_output_byte * 4e5, rounds[1].seconds,
              1e-9);
  rounds[2].seconds = 1;
  EXPECT_NEAR(FitMapCostOfKnownKeys(rounds, 1).seconds_per_byte, rounds[0].seconds / 4e6, 1e-12);
  rounds[2].seconds = 0;
  EXPECT_GT(FitMapCostOfKnownKeys(rounds, 1).seconds_per_byte, 0.1e-9);
  rounds[1].made = 0;
  EXPECT_EQ(FitMapCostOfKnownKeys(rounds, 1).seconds_per_output_byte, 0);
}

// The first bytes of a step take longer than all others: memory that is new, a file that begins.
TEST(MapCostTest, WithoutCombinerTheStartOfAStepIsLeftOut) {
  const MapCost truth{2e-9, 0};
  std::vector<MapSums> rounds = Rounds(truth);
  for (MapSums& round : rounds) round.seconds += 4e-3;
  EXPECT_NEAR(FitMapCost(rounds, false).seconds_per_byte, truth.seconds_per_byte, 1e-12);
  rounds[0].seconds += 1e-3;
  EXPECT_NEAR(FitMapCost(rounds, false).seconds_per_byte, truth.seconds_per_byte, 1e-12)
      << "chance only adds";
  rounds[2].seconds = rounds[1].seconds;
  EXPECT_GT(FitMapCost(rounds, false).seconds_per_byte, 0.2 * truth.seconds_per_byte);
  EXPECT_GT(FitMapCost({rounds[0]}, false).seconds_per_byte, 1.4 * truth.seconds_per_byte)
      << "nothing else was read";
}

// One slot sorts what is little, without what all slots take to begin: less a byte than more takes.
TEST(MapCostTest, WithoutCombinerALittleThatIsCheapMakesNoneDearer) {
  const MapCost truth{2e-9, 0};
  std::vector<MapSums> rounds = Rounds(truth);
  rounds[1].seconds *= 0.5;
  EXPECT_NEAR(FitMapCost(rounds, false).seconds_per_byte, truth.seconds_per_byte, 1e-12);
}

// What the first steps of a process took for memory that was new, and every step for its first
// bytes: that is what the one map step of a job takes before it is at speed.
TEST(MapCostTest, WhatStepsTakeForBeginningIsToldApart) {
  const MapCost truth{2e-9, 0};
  std::vector<MapSums> rounds = Rounds(truth);
  for (MapSums& round : rounds) round.seconds += 4e-3;
  MapSums small = rounds[1];
  EXPECT_NEAR(BeginningsOfSteps(small, rounds, 2e-9).each_s, 4e-3, 1e-12);
  EXPECT_NEAR(BeginningsOfSteps(small, rounds, 2e-9).new_memory_s, 0, 1e-12);
  small.seconds += 3e-3;
  EXPECT_NEAR(BeginningsOfSteps(small, rounds, 2e-9).new_memory_s, 3e-3, 1e-12);
  rounds[0].seconds += 5e-3;
  EXPECT_NEAR(BeginningsOfSteps(small, rounds, 2e-9).new_memory_s, 8e-3, 1e-12);
  rounds[0].seconds -= 6e-3;
  EXPECT_NEAR(BeginningsOfSteps(small, rounds, 2e-9).new_memory_s, 3e-3, 1e-12) << "chance";
  EXPECT_NEAR(BeginningsOfSteps(small, rounds, 1e-7).each_s, 0, 1e-12) << "all is of bytes";
}

TEST(MapCostTest, PairsCostMoreWhereCachesNoLongerHoldThem) {
  EXPECT_NEAR(BeyondCaches(3e6, 128e6), 2e-10, 1e-15);
  EXPECT_EQ(BeyondCaches(3e6, 7e6), 0) << "caches hold them";
  EXPECT_EQ(BeyondCaches(80e6, 128e6), 0) << "nor did they hold the sample's";
  EXPECT_EQ(BeyondCaches(3e6, 0), 0) << "not known how large the job is";
}

// Of ten thousand stations even the small sample has nearly all.
TEST(MapCostTest, TellsKeysFromInputThoughTheLargeSampleHasHardlyMore) {
  const MapCost truth{1.6e-9, 12e-9};
  const MapCost found = FitMapCost(
      {Sums(1.4e6, 4e5, truth), Sums(0.36e6, 3.5e5, truth), Sums(1.4e6, 3.5e5, truth)}, true);
  EXPECT_NEAR(found.seconds_per_byte, truth.seconds_per_byte, 1e-12);
  EXPECT_NEAR(found.seconds_per_output_byte, truth.seconds_per_output_byte, 1e-12);
}

TEST(MapCostTest, AllIsOfInputWhereNothingIsCombined) {
  const MapCost found = FitMapCost({{4e6, 4e6, 0.08}}, /*combines=*/false);
  EXPECT_NEAR(found.seconds_per_byte, 2e-8, 1e-12);
  EXPECT_EQ(found.seconds_per_output_byte, 0);
}

TEST(MapCostTest, KeysThatAreAllNewCostMost) {
  const MapCost found = FitMapCost({{4e6, 8e6, 0.08}}, /*combines=*/true);
  EXPECT_NEAR(found.seconds_per_byte * 4e6, 0.016, 1e-9);
  EXPECT_NEAR(found.seconds_per_output_byte * 8e6, 0.064, 1e-9);
}

TEST(MapCostTest, IsNeverBelowNothing) {
  for (const double again_s : {0.001, 0.02, 0.5}) {
    const MapCost found =
        FitMapCost({{4e6, 14e5, 0.03}, {1e6, 5e5, 0.01}, {4e6, 5e5, again_s}}, true);
    EXPECT_GT(found.seconds_per_byte, 0);
    EXPECT_GE(found.seconds_per_output_byte, 0);
  }
}

TEST(MapCostTest, AVocabularyThatIsAllKnownCostsWhatInputDoesNot) {
  const MapCost found = FitMapCost({{4e6, 4e4, 0.02}, {1e6, 4e4, 0.005}, {4e6, 4e4, 0.02}}, true);
  EXPECT_NEAR(found.seconds_per_byte, 5e-9, 1e-12);
  EXPECT_NEAR(found.seconds_per_output_byte, 0, 1e-12);
}

}  // namespace
}  // namespace weir::master
