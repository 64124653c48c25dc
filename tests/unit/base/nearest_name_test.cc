#include "runtime/base/nearest_name.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weir {
namespace {

TEST(EditDistance, CountsEachKindOfSlip) {
  EXPECT_EQ(EditDistance("status", "status"), 0);
  EXPECT_EQ(EditDistance("status", "statu"), 1);
  EXPECT_EQ(EditDistance("status", "statuss"), 1);
  EXPECT_EQ(EditDistance("status", "stetus"), 1);
  EXPECT_EQ(EditDistance("status", "sattus"), 1);
  EXPECT_EQ(EditDistance("", "abc"), 3);
}

RC_GTEST_PROP(EditDistance, IsSymmetricAndBounded, (std::string a, std::string b)) {
  const int distance = EditDistance(a, b);
  RC_ASSERT(distance == EditDistance(b, a));
  RC_ASSERT(distance <= static_cast<int>(std::max(a.size(), b.size())));
  RC_ASSERT((distance == 0) == (a == b));
}

TEST(NearestName, FindsTyposAndOnlyTypos) {
  const std::vector<std::string> jobs = {"onebrc", "wordcount"};
  EXPECT_EQ(NearestName("wordcuont", jobs), "wordcount");
  EXPECT_EQ(NearestName("WordCount", jobs), "wordcount");
  EXPECT_EQ(NearestName("terasort", jobs), "");
  EXPECT_EQ(NearestName("", jobs), "");
  EXPECT_EQ(NearestName(std::string(100'000, 'w'), jobs), "");
  EXPECT_EQ(SuggestName("onebcr", jobs), " Did you mean 'onebrc'?");
  EXPECT_EQ(SuggestName("xyz", jobs), "");
}

}  // namespace
}  // namespace weir
