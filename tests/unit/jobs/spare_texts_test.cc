#include "jobs/engine/pieces/spare_texts.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace weir {
namespace {

std::string Filled(std::string text, std::size_t bytes) {
  text.assign(bytes, 'x');
  return text;
}

TEST(SpareTexts, GivesWhatFits) {
  SpareTexts spare;
  spare.Return(Filled({}, 200 << 10));
  EXPECT_LT(spare.TakeFor(10 << 10).capacity(), 20U << 10) << "that is far too large";
  const std::string fits = spare.TakeFor(150 << 10);
  EXPECT_TRUE(fits.empty());
  EXPECT_EQ(fits.capacity(), 200U << 10);
  EXPECT_TRUE(spare.TakeUsed().empty()) << "it was the only one";
}

TEST(SpareTexts, GivesTheLargestToWhoDoesNotSay) {
  SpareTexts spare;
  spare.Return(Filled({}, 10 << 10));
  spare.Return(Filled({}, 256 << 10));
  spare.Return(Filled({}, 20 << 10));
  EXPECT_GE(spare.TakeUsed().capacity(), 256U << 10);
  EXPECT_GE(spare.Take().capacity(), 20U << 10);
}

// Blocks come and pieces of them go, for as long as a step takes: a small text that grows each time
// would leave one more large one each time.
TEST(SpareTexts, HoldNoMoreThanWasInUseHoweverLongTheyAreUsed) {
  SpareTexts spare;
  std::mt19937_64 random(1);
  constexpr int kInUse = 8;
  for (int round = 0; round < 2'000; ++round) {
    std::vector<std::string> used;
    for (int i = 0; i < kInUse; ++i) {
      used.push_back(Filled(spare.TakeUsed(), 256 << 10));
      const std::size_t bytes = (4 << 10) + random() % (200 << 10);
      used.push_back(Filled(spare.TakeFor(bytes), bytes));
    }
    for (std::string& text : used) spare.Return(std::move(text));
  }
  std::size_t kept = 0;
  while (true) {
    const std::string text = spare.TakeUsed();
    if (text.empty()) break;
    kept += text.capacity();
  }
  // Of the large ones, and of each size of the others, 4 to 8 KiB up to 128 to 256.
  EXPECT_LT(kept, std::size_t{kInUse} * (512 + 8 + 16 + 32 + 64 + 128 + 256) << 10);
}

}  // namespace
}  // namespace weir
