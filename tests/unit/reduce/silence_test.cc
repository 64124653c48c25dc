// What a call does in which nothing moves.

#include <gtest/gtest.h>

#include "runtime/reduce/steady_time.h"

namespace weir::reduce {
namespace {

TEST(SilenceTest, AsksTheOthersOnceItHasLasted) {
  EXPECT_FALSE((Silence{.silent_s = 0.09, .timeout_s = 5}).Inquires());
  EXPECT_TRUE((Silence{.silent_s = 0.1, .timeout_s = 5}).Inquires());
  EXPECT_TRUE((Silence{.silent_s = 3, .timeout_s = 5, .combines = true}).Inquires());
  EXPECT_FALSE((Silence{.silent_s = 3, .timeout_s = 5, .inquired = true}).Inquires());
}

TEST(SilenceTest, WaitsUntilItAsks) {
  EXPECT_DOUBLE_EQ((Silence{.silent_s = 0.0, .timeout_s = 5}).WaitSeconds(), 0.1);
  EXPECT_DOUBLE_EQ((Silence{.silent_s = 0.0999, .timeout_s = 5}).WaitSeconds(), 0.001);
}

TEST(SilenceTest, WaitsForItsTimeoutOnceItHasAskedAndNeverOverASecond) {
  EXPECT_DOUBLE_EQ((Silence{.silent_s = 2, .timeout_s = 5, .inquired = true}).WaitSeconds(), 1);
  EXPECT_DOUBLE_EQ((Silence{.silent_s = 4.5, .timeout_s = 5, .inquired = true}).WaitSeconds(), 0.5);
  EXPECT_DOUBLE_EQ((Silence{.silent_s = 6, .timeout_s = 5, .inquired = true}).WaitSeconds(), 0.001);
}

TEST(SilenceTest, IsNoReasonToAskSoonWhileAStepIsUnderWay) {
  EXPECT_DOUBLE_EQ((Silence{.silent_s = 0, .timeout_s = 5, .combines = true}).WaitSeconds(), 1);
}

TEST(SilenceTest, IsTooLongAtTheTimeoutButNotWhileAStepIsUnderWay) {
  EXPECT_FALSE((Silence{.silent_s = 4.9, .timeout_s = 5}).IsLate());
  EXPECT_TRUE((Silence{.silent_s = 5, .timeout_s = 5}).IsLate());
  EXPECT_FALSE((Silence{.silent_s = 9, .timeout_s = 5, .combines = true}).IsLate());
}

}  // namespace
}  // namespace weir::reduce
