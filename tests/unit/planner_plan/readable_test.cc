#include "planner/explain/readable.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

namespace weir::planner {
namespace {

TEST(ReadableTest, SecondsGetTheUnitThatFits) {
  EXPECT_EQ(ReadableSeconds(0), "0 s");
  EXPECT_EQ(ReadableSeconds(1.5e-6), "1.50 us");
  EXPECT_EQ(ReadableSeconds(0.0123), "12.3 ms");
  EXPECT_EQ(ReadableSeconds(0.99949), "999 ms");
  EXPECT_EQ(ReadableSeconds(0.9996), "1.00 s");
  EXPECT_EQ(ReadableSeconds(99.96), "100 s");
  EXPECT_EQ(ReadableSeconds(245), "4 min 05 s");
  EXPECT_EQ(ReadableSeconds(7620), "2 h 07 min");
  EXPECT_EQ(ReadableSeconds(-3), "-3.00 s");
  EXPECT_EQ(ReadableSeconds(std::nan("")), "unknown");
}

TEST(ReadableTest, BytesGetTheUnitThatFits) {
  EXPECT_EQ(ReadableBytes(0), "0 B");
  EXPECT_EQ(ReadableBytes(999), "999 B");
  EXPECT_EQ(ReadableBytes(1000), "1.00 kB");
  EXPECT_EQ(ReadableBytes(123456789), "123 MB");
  EXPECT_EQ(ReadableBytes(9.2e18), "9.20 EB");
}

TEST(ReadableTest, PercentHasOneDigit) { EXPECT_EQ(ReadablePercent(0.12345), "12.3 %"); }

TEST(ReadableTest, ABoundSaysWhatItHoldsFor) {
  EXPECT_EQ(ReadableBound(7, std::nullopt), "7.00 s at the plan's rates");
  EXPECT_EQ(ReadableBound(7, 7), "7.00 s at the plan's rates");
  EXPECT_EQ(ReadableBound(7, 6.9), "7.00 s at the plan's rates, which were too low");
}

}  // namespace
}  // namespace weir::planner
