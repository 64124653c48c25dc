#include "jobs/engine/pieces/merge_cuts.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace weir {
namespace {

using List = absl::Span<const int>;

TEST(CutMerge, ByHand) {
  const std::vector<int> a = {1, 3, 3, 9};
  const std::vector<int> b = {3, 4};
  const std::vector<List> lists = {a, b};
  // The merge is 1 3 3 (of a), 3 (of b), 4, 9.
  EXPECT_EQ(CutMerge<int>(lists, 0, std::less<>()), (std::vector<std::size_t>{0, 0}));
  EXPECT_EQ(CutMerge<int>(lists, 2, std::less<>()), (std::vector<std::size_t>{2, 0}));
  EXPECT_EQ(CutMerge<int>(lists, 3, std::less<>()), (std::vector<std::size_t>{3, 0}));
  EXPECT_EQ(CutMerge<int>(lists, 4, std::less<>()), (std::vector<std::size_t>{3, 1}));
  EXPECT_EQ(CutMerge<int>(lists, 5, std::less<>()), (std::vector<std::size_t>{3, 2}));
  EXPECT_EQ(CutMerge<int>(lists, 6, std::less<>()), (std::vector<std::size_t>{4, 2}));
}

TEST(CutMerge, NoElements) {
  const std::vector<List> none = {};
  EXPECT_TRUE(CutMerge<int>(none, 0, std::less<>()).empty());
  const std::vector<List> empty = {List(), List()};
  EXPECT_EQ(CutMerge<int>(empty, 0, std::less<>()), (std::vector<std::size_t>{0, 0}));
}

RC_GTEST_PROP(CutMergeProperty, EqualsTheStableMerge, ()) {
  // Few values: most elements have equals in other lists.
  auto lists = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::vector<int>>>(
      rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 8))));
  std::vector<List> spans;
  std::vector<std::pair<int, std::size_t>> merged;  // value, list
  for (std::size_t i = 0; i < lists.size(); ++i) {
    std::sort(lists[i].begin(), lists[i].end());
    spans.emplace_back(lists[i]);
    for (const int value : lists[i]) merged.emplace_back(value, i);
  }
  std::sort(merged.begin(), merged.end());
  std::vector<std::size_t> expected(lists.size());
  for (std::size_t rank = 0; rank <= merged.size(); ++rank) {
    RC_ASSERT(CutMerge<int>(spans, rank, std::less<>()) == expected);
    if (rank < merged.size()) ++expected[merged[rank].second];
  }
}

TEST(CutOf, CoversAllAndNothingTwice) {
  for (const std::size_t count : {0U, 1U, 7U, 100U}) {
    for (const std::size_t pieces : {1U, 2U, 7U}) {
      EXPECT_EQ(CutOf(count, 0, pieces), 0U);
      EXPECT_EQ(CutOf(count, pieces, pieces), count);
    }
  }
  EXPECT_EQ(NumPieces(0, 0, 10), 1U);
  EXPECT_EQ(NumPieces(3, 1000, 10), 3U);
  EXPECT_EQ(NumPieces(1000, 1000, 10), 100U);
}

}  // namespace
}  // namespace weir
