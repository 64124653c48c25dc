// Cuts of the key space by bytes: by hand, and on random weights.

#include "planner/job/key_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weir::planner {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

testing::Matcher<double> Near(double value) { return DoubleNear(value, 1e-9); }

TEST(KeyWeightsTest, AlikeKeysAreCutByLength) {
  const KeyCuts cuts = CutKeys({}, {0.25, 0.75});
  EXPECT_THAT(cuts.ends, ElementsAre(Near(0.25), Near(1)));
  EXPECT_THAT(cuts.shares, ElementsAre(Near(0.25), Near(0.75)));
}

TEST(KeyWeightsTest, CutsFollowBytesInsideWideBuckets) {
  // Four fifths of the bytes lie in the first quarter of the keys.
  const KeyWeights weights{{0.25, 1}, {0.8, 0.2}};
  const KeyCuts cuts = CutKeys(weights, {0.5, 0.5});
  EXPECT_THAT(cuts.ends, ElementsAre(Near(0.25 * 0.5 / 0.8), Near(1)));
  EXPECT_THAT(cuts.shares, ElementsAre(Near(0.5), Near(0.5)));
  EXPECT_NEAR(ShareBelow(weights, 0.5), 0.8 + 0.2 / 3, 1e-12);
}

TEST(KeyWeightsTest, AKeyHeavierThanAFractionIsNotDivided) {
  const double atom = KeyWeights::kAtomWidth / 2;
  const KeyWeights weights{{0.5, 0.5 + atom, 1}, {0.3, 0.4, 0.3}};
  const KeyCuts cuts = CutKeys(weights, {0.25, 0.25, 0.25, 0.25});
  EXPECT_EQ(cuts.ends.back(), 1);
  EXPECT_NEAR(*std::max_element(cuts.shares.begin(), cuts.shares.end()), 0.4, 1e-6);
  EXPECT_NEAR(std::accumulate(cuts.shares.begin(), cuts.shares.end(), 0.0), 1, 1e-9);
}

TEST(KeyWeightsTest, PartsOfARangeFollowWhatLiesInIt) {
  // Of [0.2, 1): 0.16 of the bytes below 0.25, then 0.2.
  const KeyWeights weights{{0.25, 1}, {0.8, 0.2}};
  EXPECT_THAT(CutKeyRange(weights, 0.2, 1, {0.5, 0.5}),
              ElementsAre(Near(0.25 + 0.75 * 0.02 / 0.2), Near(1)));
  EXPECT_THAT(CutKeyRange({}, 0.25, 0.5, {0.25, 0.75}), ElementsAre(Near(0.3125), Near(0.5)))
      << "alike keys";
  EXPECT_THAT(CutKeyRange({{0.5, 1}, {1, 0}}, 0.5, 1, {0.5, 0.5}), ElementsAre(Near(0.75), Near(1)))
      << "keys without bytes";
}

TEST(KeyWeightsTest, WrongWeightsAreRefused) {
  EXPECT_TRUE(CheckKeyWeights({}).ok());
  EXPECT_TRUE(CheckKeyWeights({{0.5, 1}, {0.1, 0.9}}).ok());
  EXPECT_THAT(CheckKeyWeights({{0.5, 1}, {1}}).ToString(), HasSubstr("2 ends and 1 shares"));
  EXPECT_THAT(CheckKeyWeights({{0.5, 0.4}, {0.5, 0.5}}).ToString(), HasSubstr("must rise"));
  EXPECT_THAT(CheckKeyWeights({{0.5, 1}, {-0.5, 1.5}}).ToString(), HasSubstr("shares[0]"));
  EXPECT_THAT(CheckKeyWeights({{0.5, 1}, {0.5, 0.4}}).ToString(), HasSubstr("add up to 0.9"));
}

KeyWeights DrawWeights(bool with_atoms) {
  const auto buckets = *rc::gen::inRange<std::size_t>(1, 40);
  std::vector<double> widths;
  KeyWeights weights;
  for (std::size_t i = 0; i < buckets; ++i) {
    const bool atom = with_atoms && *rc::gen::inRange(0, 4) == 0;
    widths.push_back(atom ? 1e-4 : *rc::gen::inRange(500, 1000));
    weights.shares.push_back(*rc::gen::element(0, 1, 1, 1, 2, 5, 40));
  }
  weights.shares[0] += 1;
  const double width = std::accumulate(widths.begin(), widths.end(), 0.0);
  const double share = std::accumulate(weights.shares.begin(), weights.shares.end(), 0.0);
  double end = 0;
  for (std::size_t i = 0; i < buckets; ++i) {
    weights.ends.push_back(end += widths[i] / width);
    weights.shares[i] /= share;
  }
  weights.ends.back() = 1;
  return weights;
}

std::vector<double> DrawFractions() {
  std::vector<double> fractions;
  const auto count = *rc::gen::inRange<std::size_t>(1, 12);
  for (std::size_t k = 0; k < count; ++k) fractions.push_back(*rc::gen::inRange(1, 20));
  const double sum = std::accumulate(fractions.begin(), fractions.end(), 0.0);
  for (double& fraction : fractions) fraction /= sum;
  return fractions;
}

RC_GTEST_PROP(KeyWeightsProperty, CutsTileTheKeysAndSharesAreWhatLiesBetweenThem, ()) {
  const KeyWeights weights = DrawWeights(true);
  RC_ASSERT(CheckKeyWeights(weights).ok());
  const std::vector<double> fractions = DrawFractions();
  const KeyCuts cuts = CutKeys(weights, fractions);
  RC_ASSERT(cuts.ends.size() == fractions.size() && cuts.ends.back() == 1.0);
  double begin = 0;
  for (std::size_t k = 0; k < cuts.ends.size(); ++k) {
    RC_ASSERT(cuts.ends[k] >= begin);
    RC_ASSERT(std::abs(ShareBelow(weights, cuts.ends[k]) - ShareBelow(weights, begin) -
                       cuts.shares[k]) < 1e-6);
    begin = cuts.ends[k];
  }
}

RC_GTEST_PROP(KeyWeightsProperty, BytesFollowFractionsWhereKeysCanBeDivided, ()) {
  const KeyWeights weights = DrawWeights(false);
  const std::vector<double> fractions = DrawFractions();
  const KeyCuts cuts = CutKeys(weights, fractions);
  for (std::size_t k = 0; k < fractions.size(); ++k)
    RC_ASSERT(std::abs(cuts.shares[k] - fractions[k]) < 1e-6);
}

RC_GTEST_PROP(KeyWeightsProperty, PartsOfARangeTileItAndFollowFractions, ()) {
  const KeyWeights weights = DrawWeights(false);
  const std::vector<double> fractions = DrawFractions();
  const double begin = *rc::gen::inRange(0, 900) / 1000.0;
  const double end = begin + *rc::gen::inRange(50, 101) / 1000.0;
  const std::vector<double> ends = CutKeyRange(weights, begin, end, fractions);
  RC_ASSERT(ends.size() == fractions.size() && ends.back() == end);
  const double inside = ShareBelow(weights, end) - ShareBelow(weights, begin);
  double before = begin;
  for (std::size_t k = 0; k < ends.size(); ++k) {
    RC_ASSERT(ends[k] >= before && ends[k] <= end);
    const double share = ShareBelow(weights, ends[k]) - ShareBelow(weights, before);
    // Up to the narrow ends of buckets that the range cuts off, which count as one key each.
    if (inside > 0.01) RC_ASSERT(std::abs(share / inside - fractions[k]) < 0.3);
    before = ends[k];
  }
}

// A place where keys may be cut: the end of a bucket, or any point of a wide one.
double DrawCut(const KeyWeights& weights) {
  const auto i = *rc::gen::inRange<std::size_t>(0, weights.ends.size());
  const double begin = i == 0 ? 0 : weights.ends[i - 1];
  const double width = weights.ends[i] - begin;
  if (width <= KeyWeights::kAtomWidth) return weights.ends[i];
  return begin + width * *rc::gen::inRange(1, 9) / 8;
}

double LargestRatio(const std::vector<double>& shares, const std::vector<double>& fractions) {
  double largest = 0;
  for (std::size_t k = 0; k < shares.size(); ++k)
    largest = std::max(largest, shares[k] / fractions[k]);
  return largest;
}

// Where keys are heavy no consumer is safe from more than its fraction: one of a large fraction may
// be given all the heavy keys between those of small ones, for whom each would weigh more.
RC_GTEST_PROP(KeyWeightsProperty, NoOtherCutsLoadAnyConsumerLessForItsFraction, ()) {
  const KeyWeights weights = DrawWeights(true);
  const std::vector<double> fractions = DrawFractions();
  const KeyCuts cuts = CutKeys(weights, fractions);
  std::vector<double> others;
  for (std::size_t k = 0; k + 1 < fractions.size(); ++k) others.push_back(DrawCut(weights));
  std::sort(others.begin(), others.end());
  others.push_back(1);
  std::vector<double> shares;
  double below = 0;
  for (const double end : others) {
    const double next = ShareBelow(weights, end);
    shares.push_back(next - below);
    below = next;
  }
  RC_ASSERT(LargestRatio(cuts.shares, fractions) <=
            LargestRatio(shares, fractions) * (1 + 1e-6) + 1e-6);
}

}  // namespace
}  // namespace weir::planner
