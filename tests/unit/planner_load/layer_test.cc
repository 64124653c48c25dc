// Validation, scaling and compute functions.

#include "planner/load/layer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace weir::planner::load {
namespace {

Layer GoodLayer() {
  Layer layer;
  layer.kind = LayerKind::kMapper;
  layer.num_senders = 4;
  layer.channels = 2;
  layer.load_bytes = 1e9;
  layer.channel_seconds_per_byte = 1e-8;
  layer.output_ratio = 0.5;
  layer.mapper_startup_s = 0.1;
  layer.compute = ComputeFunction::Linear(1e-7, 0);
  layer.next_fractions = {0.25, 0.75};
  return layer;
}

void ExpectRefused(const Layer& layer, const std::string& field, const std::string& value) {
  const absl::Status status = CheckLayer(layer);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const std::string message(status.message());
  EXPECT_NE(message.find(field), std::string::npos) << message;
  EXPECT_NE(message.find(value), std::string::npos) << message;
  EXPECT_NE(message.find("legal"), std::string::npos) << message;
}

TEST(LayerTest, AcceptsGoodLayer) { EXPECT_TRUE(CheckLayer(GoodLayer()).ok()); }

TEST(LayerTest, RefusesBadNumbersByName) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  Layer bad = GoodLayer();
  bad.num_senders = 0;
  ExpectRefused(bad, "n (senders)", "0");
  bad = GoodLayer();
  bad.channels = 0;
  ExpectRefused(bad, "l (channels)", "0");
  for (const double value : {0.0, -1.0, 1e18, nan, infinity}) {
    bad = GoodLayer();
    bad.load_bytes = value;
    ExpectRefused(bad, "V (load", "is ");
  }
  for (const double value : {0.0, -1e-9, nan, infinity}) {
    bad = GoodLayer();
    bad.channel_seconds_per_byte = value;
    ExpectRefused(bad, "C (channel", "is ");
    bad = GoodLayer();
    bad.compute = ComputeFunction::Linear(value, 0);
    ExpectRefused(bad, "compute rate", "is ");
  }
  bad = GoodLayer();
  bad.output_ratio = -0.5;
  ExpectRefused(bad, "g (output ratio)", "-0.5");
  bad = GoodLayer();
  bad.mapper_startup_s = -1;
  ExpectRefused(bad, "S (mapper", "-1");
}

TEST(LayerTest, RefusesBadFractions) {
  Layer bad = GoodLayer();
  bad.next_fractions = {};
  ExpectRefused(bad, "r (receivers)", "0");
  bad.next_fractions = {0.5, 0.4};
  ExpectRefused(bad, "delta_next sums", "0.9");
  bad.next_fractions = {1.5, -0.5};
  ExpectRefused(bad, "delta_next[1]", "-0.5");
}

TEST(LayerTest, RefusesTimesThatOverflow) {
  Layer bad = GoodLayer();
  bad.channel_seconds_per_byte = 1e300;
  bad.load_bytes = 1e17;
  bad.output_ratio = 1e10;
  EXPECT_EQ(ScaleLayer(bad).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(LayerTest, ScalesSoThatTheOptimumIsAboutOne) {
  const absl::StatusOr<ScaledLayer> scaled = ScaleLayer(GoodLayer());
  ASSERT_TRUE(scaled.ok());
  // T0 = A V / n + n S + C g V / min(l, n, r) = 25 + 0.4 + 2.5.
  EXPECT_NEAR(scaled->time_unit_s, 27.9, 1e-12);
  EXPECT_NEAR(scaled->send_all, 5 / 27.9, 1e-15);
  // D_1 = 0.75, L = 2: 2 * 0.75 > 1, so q = 1 is a cut.
  EXPECT_EQ(scaled->cut_widths, (std::vector<std::int32_t>{1, 2}));
}

TEST(ComputeFunctionTest, ChordsTouchTheCurveAtPowersOfTwo) {
  const ComputeFunction chords = ComputeFunction::Chords(0.5, 3, 1000);
  const ComputeFunction curve = ComputeFunction::NLogN(0.5, 3);
  EXPECT_DOUBLE_EQ(chords.Value(1), 3.5);  // a_0 = a_red on [0, 2)
  for (int y = 1; y <= 9; ++y)
    EXPECT_DOUBLE_EQ(chords.Value(std::ldexp(1.0, y)), curve.Value(std::ldexp(1.0, y)));
  for (double x = 0.5; x < 1000; x *= 1.37)
    EXPECT_GE(chords.Value(x) * (1 + 1e-12), curve.Value(x)) << x;
}

TEST(ComputeFunctionTest, SolveLoadInvertsEveryKind) {
  const absl::StatusOr<ComputeFunction> measured =
      ComputeFunction::Measured({{0, 1}, {100, 2}, {300, 6}});
  ASSERT_TRUE(measured.ok());
  for (const ComputeFunction& f :
       {ComputeFunction::Linear(0.1, 2), ComputeFunction::Chords(0.1, 2, 1e6),
        ComputeFunction::NLogN(0.1, 2), *measured}) {
    std::size_t hint = 0;
    for (const double weight : {0.0, 0.3, 20.0}) {
      for (double load = 0.25; load < 1e5; load *= 3) {
        EXPECT_NEAR(f.SolveLoad(weight, weight * load + f.Value(load), hint) / load, 1, 1e-12);
      }
    }
  }
}

TEST(ComputeFunctionTest, ScalingKeepsTheFunction) {
  const ComputeFunction f = ComputeFunction::NLogN(0.1, 2);
  EXPECT_NEAR(f.Scaled(1e6, 50).Value(0.3) * 50, f.Value(3e5), 1e-6);
}

TEST(ComputeFunctionTest, MeasuredCurveMustBeConvex) {
  const absl::Status status = ComputeFunction::Measured({{0, 0}, {10, 10}, {20, 11}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("sample 1"), std::string::npos) << status;
  EXPECT_FALSE(ComputeFunction::Measured({{0, 0}}).ok());
  EXPECT_FALSE(ComputeFunction::Measured({{5, 0}, {5, 1}}).ok());
}

}  // namespace
}  // namespace weir::planner::load
