#include "runtime/master/conduct/grant_delay.h"

#include <gtest/gtest.h>

namespace weir::master {
namespace {

TEST(GrantDelayTest, TakesTheFirstRoundTripAndFollowsTheNext) {
  GrantDelay delay;
  EXPECT_EQ(delay.seconds(), 0);
  delay.Observe(0.004);
  EXPECT_DOUBLE_EQ(delay.seconds(), 0.004);
  delay.Observe(0.012);
  EXPECT_DOUBLE_EQ(delay.seconds(), 0.005);
  for (int i = 0; i < 100; ++i) delay.Observe(0.002);
  EXPECT_NEAR(delay.seconds(), 0.002, 1e-6);
}

TEST(GrantDelayTest, AWorkerThatStoodStillCountsForLittle) {
  GrantDelay delay;
  delay.Observe(0.002);
  delay.Observe(30);
  EXPECT_LT(delay.seconds(), 0.005);
  delay.Observe(-1);
  EXPECT_GE(delay.seconds(), 0);
}

}  // namespace
}  // namespace weir::master
