// How many keys layers leave of the whole job: against keys that are drawn and hashed.

#include "runtime/master/sample/layer_keys.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <unordered_set>
#include <vector>

#include "runtime/master/learning/key_growth.h"

namespace weir::master {
namespace {

constexpr double kDays = 36'600;

// A step of `records` keys, each of which makes one of `behind` keys of the next layer.
KeyCount Drawn(double records, double behind, std::mt19937_64& random) {
  std::unordered_set<std::uint64_t> keys;
  for (double i = 0; i < records; ++i) keys.insert(random() % static_cast<std::uint64_t>(behind));
  return {records, static_cast<double>(keys.size())};
}

TEST(LayerKeysTest, EveryReducerMakesNearlyAllKeysThatAreFew) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (const double records : {40'000.0, 300'000.0, 1'200'000.0}) {
    for (const double reducers : {1.0, 2.0, 8.0}) {
      SCOPED_TRACE(testing::Message() << records << " records, reducers " << reducers);
      const SampledLayer first{Drawn(100, kDays, random), Drawn(20'000, kDays, random)};
      double made = 0;
      std::unordered_set<std::uint64_t> all;
      for (int r = 0; r < static_cast<int>(reducers); ++r) {
        std::unordered_set<std::uint64_t> of_one;
        for (double i = 0; i < records / reducers; ++i)
          of_one.insert(random() % static_cast<std::uint64_t>(kDays));
        made += static_cast<double>(of_one.size());
        all.insert(of_one.begin(), of_one.end());
      }
      const auto left =
          LeftOfLayers({records, records, reducers}, std::vector<SampledLayer>{first, first});
      ASSERT_EQ(left.size(), 2u);
      EXPECT_EQ(left[0].met, 1);
      const double in_sample = first.large.keys / first.large.records;
      const double told = records * in_sample * left[0].behind;
      EXPECT_NEAR(told, std::min(made, records * in_sample), 0.1 * made);
      EXPECT_NEAR(told * left[1].met, static_cast<double>(all.size()),
                  0.15 * static_cast<double>(all.size()));
    }
  }
}

TEST(LayerKeysTest, KeysThatNeverMeetLeaveTheirLayersAsSampled) {
  const SampledLayer unmet{{100, 100}, {8'000, 8'000}};
  const auto left = LeftOfLayers({1e6, 0.5e6, 2}, std::vector<SampledLayer>{unmet, unmet, unmet});
  EXPECT_EQ(left[0].met, 0.5) << "of several mappers";
  for (const LayerLeft& one : left) EXPECT_NEAR(one.behind, 1, 0.01);
  EXPECT_NEAR(left[1].met, 1, 0.01);
  EXPECT_NEAR(left[2].met, 1, 0.01);
}

TEST(LayerKeysTest, OneKeyForAllIsOneOfEachReducer) {
  const SampledLayer first{{100, 1}, {8'000, 1}};
  const SampledLayer second{{1, 1}, {1, 1}};
  const auto left = LeftOfLayers({1e6, 1e6, 4}, std::vector<SampledLayer>{first, second});
  EXPECT_NEAR(left[0].behind, (4 / 1e6) / (1 / 8e3), 1e-4);
  EXPECT_NEAR(left[1].met, 0.25, 0.01);
}

TEST(LayerKeysTest, SaysNothingOfWhatIsNotKnown) {
  const SampledLayer layer{{100, 100}, {8'000, 7'000}};
  for (const FirstLayerInput& unknown : {FirstLayerInput{}, FirstLayerInput{1e6, 0, 2}}) {
    for (const LayerLeft& one : LeftOfLayers(unknown, std::vector<SampledLayer>{layer, layer})) {
      EXPECT_EQ(one.met, 1);
      EXPECT_EQ(one.behind, 1);
    }
  }
  const SampledLayer expands{{100, 200}, {8'000, 16'000}};
  const auto left = LeftOfLayers({1e6, 1e6, 2}, std::vector<SampledLayer>{expands, layer});
  EXPECT_EQ(left[0].behind, 1);
  EXPECT_EQ(left[1].met, 1);
  EXPECT_TRUE(LeftOfLayers({1e6, 1e6, 2}, {}).empty());
}

}  // namespace
}  // namespace weir::master
