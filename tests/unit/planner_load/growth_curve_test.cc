// Curves of steps that take longer a byte the more they read: by hand, and as the solvers see them.

#include "planner/load/growth_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "planner/load/compute_function.h"

namespace weir::planner::load {
namespace {

using ::testing::HasSubstr;

TEST(GrowthCurve, TakesItsRateAtItsPoint) {
  for (const double exponent : {1.0, 1.2, 2.0}) {
    const GrowthCurve curve{1e-9, 1024, exponent};
    EXPECT_DOUBLE_EQ(curve.SecondsOf(1024), 1024e-9) << exponent;
    EXPECT_EQ(curve.SecondsOf(0), 0) << exponent;
  }
  EXPECT_EQ(GrowthCurve().SecondsOf(1024), 0);
}

TEST(GrowthCurve, GrowsByHand) {
  // log2 1024 = 10 and log2 2^20 = 20: twice as long a byte.
  EXPECT_DOUBLE_EQ((GrowthCurve{1e-9, 1024, 1}.SecondsPerByteOf(1 << 20)), 2e-9);
  EXPECT_DOUBLE_EQ((GrowthCurve{1e-9, 1024, 1.5}.SecondsPerByteOf(4096)), 2e-9);
  EXPECT_DOUBLE_EQ((GrowthCurve{1e-9, 1024, 2}.SecondsPerByteOf(4096)), 4e-9);
}

TEST(GrowthCurve, IsTheFunctionThatSolversGet) {
  constexpr double kLoad = 1e9;
  for (const double exponent : {1.0, 1.05, 1.3, 2.0}) {
    const GrowthCurve curve{3e-9, 2e6, exponent};
    const ComputeFunction function = ComputeFunction::Growing(1e-9, 0.25, curve, kLoad);
    EXPECT_TRUE(function.Check().ok()) << function.Check();
    double slope = 0;
    for (double load = kLoad * 1e-5; load <= kLoad; load *= 1.31) {
      const double exact = 0.25 + 1e-9 * load + curve.SecondsOf(load);
      EXPECT_NEAR(function.Value(load), exact, 1e-3 * exact) << exponent << " " << load;
      EXPECT_GE(function.Value(load), exact * (1 - 1e-12)) << exponent << " " << load;
      EXPECT_GE(function.Slope(load), slope * (1 - 1e-12)) << exponent << " " << load;
      slope = function.Slope(load);
    }
  }
}

TEST(GrowthCurve, IsRefusedWithWhatIsWrong) {
  EXPECT_TRUE(CheckGrowthCurve(GrowthCurve()).ok());
  EXPECT_TRUE(CheckGrowthCurve({1e-9, 1, 2}).ok());
  EXPECT_THAT(CheckGrowthCurve({-1, 1, 1}).ToString(), HasSubstr("seconds_per_byte is -1"));
  EXPECT_THAT(CheckGrowthCurve({1e-9, 0, 1}).ToString(), HasSubstr("at_bytes is 0"));
  EXPECT_THAT(CheckGrowthCurve({1e-9, 1, 0.9}).ToString(), HasSubstr("exponent is 0.9"));
  EXPECT_THAT(CheckGrowthCurve({1e-9, 1, std::nan("")}).ToString(), HasSubstr("exponent is nan"));
}

}  // namespace
}  // namespace weir::planner::load
