#include "planner/plan/input/input_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <vector>

namespace weir::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(InputPartsTest, PartsEndWhereTheirCostIsReached) {
  EXPECT_THAT(InputPartEnds({3, 1}, 1000), ElementsAre(750, 1000));
  EXPECT_THAT(InputPartEnds({1, 2, 1}, 1000), ElementsAre(250, 750, 1000));
  EXPECT_THAT(InputPartEnds({1.0}, 1000), IsEmpty()) << "one part is all of it";
  EXPECT_THAT(InputPartEnds({1, 1, 1}, 2), IsEmpty()) << "less than a byte a part";
  EXPECT_THAT(InputPartEnds({1, 1000}, 100), IsEmpty()) << "no byte is counted for the first";
  EXPECT_THAT(InputPartEnds({1000, 1, 1e-9}, 100), IsEmpty()) << "nor for the last";
}

TEST(InputPartsTest, TheLargestInputHasEndsToo) {
  constexpr Bytes kMost = std::numeric_limits<Bytes>::max();
  EXPECT_THAT(InputPartEnds({1, 1}, kMost), ElementsAre(Bytes{1} << 62, kMost));
  EXPECT_THAT(InputPartEnds({1, 1e-30}, kMost), IsEmpty()) << "no byte is counted for the last";
  EXPECT_THAT(InputPartEnds({0, 0}, 1000), IsEmpty()) << "without any cost";
}

TEST(InputPartsTest, HalfOfTheCostIsAThirdOfTheInput) {
  const std::vector<Bytes> ends = InputPartEnds({3, 1}, 1000);
  EXPECT_EQ(InputPosition(ends, 0), 0);
  EXPECT_EQ(InputPosition(ends, 375), 250);
  EXPECT_EQ(InputPosition(ends, 500), 333);
  EXPECT_EQ(InputPosition(ends, 750), 500);
  EXPECT_EQ(InputPosition(ends, 999), 998);
  EXPECT_EQ(InputPosition(ends, 1000), 1000);
  EXPECT_EQ(InputPosition({}, 500), 500);
}

TEST(InputPartsTest, ProgressIsCountedAsThePlanCounts) {
  const std::vector<Bytes> ends = InputPartEnds({3, 1}, 1000);
  EXPECT_EQ(CountedBytes(ends, 500, 1000, 0), 0);
  EXPECT_NEAR(static_cast<double>(CountedBytes(ends, 500, 1000, 167)), 250, 2);
  EXPECT_EQ(CountedBytes(ends, 500, 1000, 667), 500);
  EXPECT_EQ(CountedBytes(ends, 500, 1000, 10'000), 500) << "a record beyond the end";
  EXPECT_EQ(CountedBytes({}, 500, 1000, 167), 167);
}

RC_GTEST_PROP(InputPartsProperty, RangesThatTileThePlanTileTheInput, ()) {
  const auto weights = *rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(rc::gen::map(
      rc::gen::inRange(1, 1000), [](int weight) { return static_cast<double>(weight); })));
  const auto bytes =
      *rc::gen::oneOf(rc::gen::inRange<Bytes>(1, 5000), rc::gen::inRange<Bytes>(1, Bytes{1} << 62));
  const std::vector<Bytes> ends = InputPartEnds(weights, bytes);
  RC_PRE(!ends.empty());
  RC_ASSERT(ends.front() > 0 && ends.back() == bytes);
  RC_ASSERT(std::adjacent_find(ends.begin(), ends.end(), std::greater_equal<>()) == ends.end());
  RC_ASSERT(InputPosition(ends, 0) == 0);
  RC_ASSERT(InputPosition(ends, bytes) == bytes);
  const Bytes a = *rc::gen::inRange<Bytes>(0, bytes);
  const Bytes b = *rc::gen::inRange<Bytes>(a, bytes) + 1;
  const Bytes begin = InputPosition(ends, a);
  const Bytes end = InputPosition(ends, b);
  RC_ASSERT(0 <= begin && begin <= end && end <= bytes);
  RC_ASSERT(begin <= InputPosition(ends, a + 1));
  RC_ASSERT(CountedBytes(ends, a, b, 0) == (begin == end ? b - a : 0));
  const Bytes read = *rc::gen::inRange<Bytes>(0, end - begin + 1);
  const Bytes counted = CountedBytes(ends, a, b, read);
  RC_ASSERT(0 <= counted && counted <= b - a);
  RC_ASSERT(CountedBytes(ends, a, b, end - begin) == b - a);
}

}  // namespace
}  // namespace weir::planner
