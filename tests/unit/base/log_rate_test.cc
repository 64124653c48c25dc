#include "runtime/base/log_rate.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(LogRateTest, LetsOneLineThroughInEachStretchAndSaysHowManyItLeftOut) {
  LogRate rate(absl::Seconds(5));
  const MonoTime start = MonoTime::FromNanos(1'000'000'000);
  EXPECT_EQ(rate.Admit(start), 0);
  EXPECT_EQ(rate.Admit(start), std::nullopt);
  EXPECT_EQ(rate.Admit(start + absl::Seconds(4)), std::nullopt);
  EXPECT_EQ(rate.Admit(start + absl::Seconds(5)), 2);
  EXPECT_EQ(rate.Admit(start + absl::Seconds(9)), std::nullopt);
  EXPECT_EQ(rate.Admit(start + absl::Seconds(60)), 1);
  EXPECT_EQ(rate.Admit(start + absl::Seconds(120)), 0);
}

}  // namespace
}  // namespace weir
