// What runs of different sizes say of the time of reduce steps.

#include "runtime/master/learning/reduce_points.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "runtime/master/learning/learned_shape.h"

namespace weir::master {
namespace {

using planner::load::GrowthCurve;
using Layer = v1::JobShapeLearned::Layer;

Layer LearnedFrom(const GrowthCurve& curve, const std::vector<double>& sizes, double noise = 0) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> off(1 - noise, 1 + noise);
  Layer before;
  for (const double bytes : sizes) {
    Layer after;
    LearnReducePoint(&before, bytes, curve.SecondsPerByteOf(bytes) * off(random), after);
    before = after;
  }
  return before;
}

TEST(ReducePoints, FindsTheCurveOfSorting) {
  const GrowthCurve sorting{5e-9, 1e6, 1};
  const auto found = FitReduceGrowth(LearnedFrom(sorting, {1e5, 1e6, 1e7, 1e8}));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->exponent, 1);
  EXPECT_NEAR(found->SecondsPerByteOf(1e6), 5e-9, 1e-12);
  const auto noisy = FitReduceGrowth(LearnedFrom(sorting, {1e5, 1e6, 1e7, 1e8}, 0.03));
  ASSERT_TRUE(noisy.has_value());
  EXPECT_NEAR(noisy->SecondsPerByteOf(1e8), sorting.SecondsPerByteOf(1e8), 0.3e-9);
}

TEST(ReducePoints, FindsAPower) {
  const GrowthCurve power{5e-9, 1e6, 1.4};
  const auto found = FitReduceGrowth(LearnedFrom(power, {1e8, 1e6, 1e7}));
  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->exponent, 1.4, 1e-9);
  EXPECT_NEAR(found->SecondsPerByteOf(1e6), 5e-9, 1e-15);
}

TEST(ReducePoints, SaysNothingOfWhatMayBeALine) {
  const GrowthCurve sorting{5e-9, 1e6, 1};
  EXPECT_FALSE(FitReduceGrowth(Layer()).has_value());
  // Two sizes, or sizes that are close.
  EXPECT_FALSE(FitReduceGrowth(LearnedFrom(sorting, {1e6, 1e8})).has_value());
  EXPECT_FALSE(FitReduceGrowth(LearnedFrom(sorting, {1e6, 2.5e6, 6e6})).has_value());
  // A line, whose points are off by a fifth.
  Layer line;
  for (const double bytes : {1e5, 1e6, 1e7, 1e8}) {
    Layer next;
    LearnReducePoint(&line, bytes, bytes == 1e6 || bytes == 1e8 ? 6e-9 : 5e-9, next);
    line = next;
  }
  EXPECT_FALSE(FitReduceGrowth(line).has_value());
  // Falling: what large steps gain is no curve of ours.
  Layer falling;
  for (const double bytes : {1e5, 1e6, 1e7}) {
    Layer next;
    LearnReducePoint(&falling, bytes, 1e-8 / std::log(bytes), next);
    falling = next;
  }
  EXPECT_FALSE(FitReduceGrowth(falling).has_value());
}

TEST(ReducePoints, KeepsOnePointAPowerOfTwo) {
  Layer layer;
  for (int run = 0; run < 100; ++run) {
    Layer next;
    LearnReducePoint(&layer, std::ldexp(1.25, run % 20), 1e-9, next);
    layer = next;
  }
  EXPECT_EQ(layer.reduce_points_size(), kReducePointsMax);
  EXPECT_EQ(layer.reduce_points(kReducePointsMax - 1).bytes(), std::ldexp(1.25, 19));
}

TEST(ReducePoints, ReachTheShapeOfAJob) {
  v1::JobShapeLearned known;
  *known.add_layers() = LearnedFrom({5e-9, 1e6, 1.4}, {1e6, 1e7, 1e8});
  known.mutable_layers(0)->set_reduce_seconds_per_byte(9e-9);
  planner::JobShape shape;
  shape.layers.resize(1);
  ApplyShape(known, planner::Origin::kHistory, 1e6, shape);
  EXPECT_EQ(shape.layers[0].reduce_seconds_per_byte.value, 0);
  EXPECT_EQ(shape.layers[0].reduce_growth_origin, planner::Origin::kHistory);
  EXPECT_NEAR(planner::ReduceSeconds(shape.layers[0], 1e6), 5e-3, 1e-9);

  known.mutable_layers(0)->clear_reduce_points();
  planner::JobShape line;
  line.layers.resize(1);
  ApplyShape(known, planner::Origin::kHistory, 1e6, line);
  EXPECT_FALSE(line.layers[0].reduce_growth.known());
  EXPECT_EQ(line.layers[0].reduce_seconds_per_byte.value, 9e-9);
}

}  // namespace
}  // namespace weir::master
