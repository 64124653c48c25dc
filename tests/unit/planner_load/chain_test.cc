// Whole chains: the source's numbers, the bound, blending, and the number of mappers and reducers.

#include "planner/load/chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "planner/load/choose_counts.h"
#include "tests/unit/planner_load/random_layer.h"
#include "tests/unit/planner_load/reference_chain.h"

namespace weir::planner::load {
namespace {

Chain RandomChain(RandomLayers& random) {
  Chain chain;
  chain.num_mappers = random.Whole(1, 8);
  chain.map_seconds_per_byte = random.LogUniform(1e-9, 1e-6);
  chain.input_bytes = random.LogUniform(1e9, 1e15);
  chain.map_startup_s =
      random.LogUniform(1e-4, 1) * chain.map_seconds_per_byte * chain.input_bytes / 20;
  chain.map_output_ratio = random.LogUniform(0.01, 1);
  const std::int32_t num_layers = random.Whole(1, 3);
  for (std::int32_t p = 0; p < num_layers; ++p) {
    chain.reducers.push_back({random.Whole(1, 8), random.LogUniform(1e-9, 1e-6),
                              random.Uniform(0, 1), random.LogUniform(0.01, 1),
                              ReduceCurve::kChords});
  }
  chain.channel_seconds_per_byte = random.LogUniform(1e-9, 1e-5);
  chain.channels = random.Whole(1, 8);
  chain.store = static_cast<FinalStore>(random.Whole(0, 2));
  return chain;
}

TEST(ChainTest, BlendingIsNeverWorseAndStaysAboveTheBound) {
  RandomLayers random(21);
  for (int round = 0; round < 150; ++round) {
    const Chain chain = RandomChain(random);
    const absl::StatusOr<ChainSolution> plain = SolveLayerByLayer(chain, LayerMethod::kFast);
    const absl::StatusOr<ChainSolution> blended = SolveChain(chain, LayerMethod::kFast);
    const absl::StatusOr<ChainSolution> equal = SolveEqualShares(chain);
    ASSERT_TRUE(plain.ok() && blended.ok() && equal.ok())
        << plain.status() << blended.status() << equal.status();
    EXPECT_LE(blended->makespan_s, plain->makespan_s);
    EXPECT_LE(blended->makespan_s, equal->makespan_s * (1 + 1e-9));
    EXPECT_GE(blended->makespan_s, blended->lower_bound_s * (1 - 1e-9));
    std::vector<std::vector<double>> shares;
    for (const LayerSolution& layer : blended->layers) shares.push_back(layer.share);
    EXPECT_NEAR(*ChainMakespan(chain, shares) / blended->makespan_s, 1, 1e-9);
  }
}

TEST(ChainTest, SlowNetworksNeedTheWholeChain) {
  Chain chain = ReferenceChain();
  chain.reducers[0].num_reducers = 10;
  chain.channel_seconds_per_byte = 1e-4;
  const absl::StatusOr<ChainSolution> plain = SolveLayerByLayer(chain, LayerMethod::kFast);
  const absl::StatusOr<ChainSolution> blended = SolveChain(chain, LayerMethod::kFast);
  ASSERT_TRUE(plain.ok() && blended.ok());
  EXPECT_GT(plain->makespan_s / plain->lower_bound_s, 2);
  EXPECT_LT(blended->makespan_s / blended->lower_bound_s, 1.06);
}

Chain DeepChain(std::size_t num_layers, std::int32_t num_reducers) {
  Chain chain = ReferenceChain();
  chain.channel_seconds_per_byte = 1e-6;
  chain.reducers.assign(num_layers, {num_reducers, 1e-7, 1e-2, 1, ReduceCurve::kChords});
  return chain;
}

// Each pass over a chain of twenty layers solves two thousand of them, and there may be four.
TEST(ChainTest, BendingEndsWhenItsWorkIsDone) {
  const Chain chain = DeepChain(20, 8);
  const absl::StatusOr<ChainSolution> plain = SolveLayerByLayer(chain, LayerMethod::kFast);
  ASSERT_TRUE(plain.ok()) << plain.status();
  const absl::StatusOr<ChainSolution> none = SolveChain(chain, LayerMethod::kFast, 0);
  const absl::StatusOr<ChainSolution> some =
      SolveChain(chain, LayerMethod::kFast, 10 * plain->work);
  const absl::StatusOr<ChainSolution> all = SolveChain(chain, LayerMethod::kFast);
  ASSERT_TRUE(none.ok() && some.ok() && all.ok());
  EXPECT_EQ(none->makespan_s, plain->makespan_s);
  EXPECT_EQ(none->work, plain->work);
  EXPECT_LE(some->makespan_s, plain->makespan_s);
  EXPECT_LE(all->makespan_s, some->makespan_s);
  EXPECT_GE(some->work, 10 * plain->work);
  EXPECT_GT(all->work, 50 * plain->work);
  EXPECT_LT(some->work, all->work / 2);
}

TEST(ChainTest, StoringThroughChannelsBeatsOneAtATime) {
  Chain chain = ReferenceChain();
  chain.channel_seconds_per_byte = 1e-5;
  const absl::StatusOr<ChainSolution> one = SolveChain(chain, LayerMethod::kFast);
  chain.store = FinalStore::kThroughChannels;
  const absl::StatusOr<ChainSolution> many = SolveChain(chain, LayerMethod::kFast);
  chain.store = FinalStore::kLocal;
  const absl::StatusOr<ChainSolution> local = SolveChain(chain, LayerMethod::kFast);
  ASSERT_TRUE(one.ok() && many.ok() && local.ok());
  EXPECT_LT(many->makespan_s, one->makespan_s);
  // Five channels for five reducers: each writes when it is done, like a local disk of the same
  // rate.
  EXPECT_NEAR(local->layers[2].makespan_s / many->layers[2].makespan_s, 1, 1e-9);
}

TEST(ChooseCountsTest, FindsTheBestPairByExhaustion) {
  RandomLayers random(22);
  for (int round = 0; round < 25; ++round) {
    Chain chain = RandomChain(random);
    chain.reducers.resize(1);
    chain.map_startup_s *= 20;
    Seconds best_s = std::numeric_limits<double>::infinity();
    for (std::int32_t m = 1; m <= 8; ++m) {
      for (std::int32_t r = 1; r <= 8; ++r) {
        chain.num_mappers = m;
        chain.reducers[0].num_reducers = r;
        best_s = std::min(best_s, SolveChain(chain, LayerMethod::kFast)->makespan_s);
      }
    }
    const absl::StatusOr<Chain> chosen = ChooseCounts(chain, {{8, 8}, {false, false}});
    ASSERT_TRUE(chosen.ok()) << chosen.status();
    EXPECT_LE(SolveChain(*chosen, LayerMethod::kFast)->makespan_s, best_s * 1.01);
  }
}

TEST(ChooseCountsTest, KeepsWhatTheUserFixed) {
  const absl::StatusOr<Chain> chosen =
      ChooseCounts(ReferenceChain(), {{64, 64, 64}, {true, false, true}});
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_EQ(chosen->num_mappers, 5);
  EXPECT_EQ(chosen->reducers[1].num_reducers, 5);
  EXPECT_GT(chosen->reducers[0].num_reducers, 5);
  EXPECT_FALSE(ChooseCounts(ReferenceChain(), {{64}, {true}}).ok());
}

// To bend the fractions of forty layers solves tens of thousands, for each count that is compared.
TEST(ChooseCountsTest, DeepChainsAreComparedWithEqualShares) {
  Chain chain = DeepChain(40, 2);
  const absl::StatusOr<OneMore> more = CompareOneMore(chain);
  ASSERT_TRUE(more.ok()) << more.status();
  const absl::StatusOr<ChainSolution> now = SolveEqualShares(chain);
  ++chain.num_mappers;
  const absl::StatusOr<ChainSolution> then = SolveEqualShares(chain);
  ASSERT_TRUE(now.ok() && then.ok());
  EXPECT_EQ(more->mapper_s, then->makespan_s - now->makespan_s);
}

TEST(ChooseCountsTest, OneMoreChannelHelpsAStarvedNetwork) {
  Chain chain = ReferenceChain();
  chain.channel_seconds_per_byte = 1e-4;
  chain.channels = 1;
  const absl::StatusOr<OneMore> more = CompareOneMore(chain);
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_LT(more->channel_s, 0);
  EXPECT_EQ(more->reducer_s.size(), 2u);
}

}  // namespace
}  // namespace weir::planner::load
