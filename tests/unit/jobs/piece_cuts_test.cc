#include "jobs/engine/merge/piece_cuts.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace weir {
namespace {

// Of pairs (key, bytes), which outlive the marks.
std::vector<KeyMark> MarksOf(const std::vector<std::pair<std::string, std::size_t>>& keys) {
  std::vector<KeyMark> marks;
  for (const auto& [key, bytes] : keys) marks.push_back({key, bytes});
  return marks;
}

TEST(ChooseCuts, PiecesBecomeSmallerTowardsTheEnd) {
  std::vector<std::pair<std::string, std::size_t>> keys;
  for (int i = 0; i < 1'000; ++i) keys.emplace_back(std::to_string(10'000 + i), 10);
  const std::vector<std::string> cuts = ChooseCuts(MarksOf(keys), 100);
  ASSERT_GT(cuts.size(), 20U);
  // A sixteenth of 10 000 bytes is 63 marks; the 63rd is the first one of the next piece.
  EXPECT_EQ(cuts.front(), "10062");
  EXPECT_LT(std::stoi(cuts.back()) - std::stoi(cuts[cuts.size() - 2]), 20);
  EXPECT_GE(10'999 - std::stoi(cuts.back()), 9);
}

TEST(ChooseCuts, OneKeyIsOnePiece) {
  std::vector<std::pair<std::string, std::size_t>> keys;
  for (int i = 0; i < 100; ++i) keys.emplace_back("same", 1'000);
  EXPECT_LE(ChooseCuts(MarksOf(keys), 10).size(), 1U);
  keys.emplace_back("after", 10);
  keys.emplace_back("then", 10);
  EXPECT_FALSE(ChooseCuts(MarksOf(keys), 10).empty());
  for (const std::string& cut : ChooseCuts(MarksOf(keys), 10))
    EXPECT_TRUE(cut == "same" || cut == "then");
}

TEST(ChooseCuts, LittleIsNotCut) {
  EXPECT_TRUE(ChooseCuts({}, 10).empty());
  EXPECT_TRUE(ChooseCuts({{"a", 5}, {"b", 10}}, 10).empty());
}

RC_GTEST_PROP(ChooseCutsProperty, CutsAreKeysInOrderAndPiecesAreNotSmall, ()) {
  std::vector<std::pair<std::string, std::size_t>> keys;
  const int count = *rc::gen::inRange(0, 200);
  for (int i = 0; i < count; ++i) {
    keys.emplace_back(std::to_string(*rc::gen::inRange(0, 300)),
                      *rc::gen::inRange<std::size_t>(0, 100));
  }
  const std::size_t least = *rc::gen::inRange<std::size_t>(1, 500);
  const std::vector<std::string> cuts = ChooseCuts(MarksOf(keys), least);
  std::sort(keys.begin(), keys.end());
  // Up to a cut and its key, from the one before: never less than the least.
  std::size_t at = 0;
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    if (i > 0) RC_ASSERT(cuts[i - 1] < cuts[i]);
    std::size_t bytes = 0;
    bool found = false;
    for (; at < keys.size() && keys[at].first <= cuts[i]; ++at) {
      bytes += keys[at].second;
      found = found || keys[at].first == cuts[i];
    }
    RC_ASSERT(found);
    std::size_t of_key = 0;
    if (i > 0) {
      for (const auto& [key, of_mark] : keys) of_key += key == cuts[i - 1] ? of_mark : 0;
    }
    RC_ASSERT(bytes + of_key >= least);
  }
}

}  // namespace
}  // namespace weir
