// What places of an input show, and whether the history of other data counts for it: by hand, and
// for random data of the same kind and of another one.

#include "runtime/master/input/input_look.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"
#include "runtime/master/learning/data_seen.h"
#include "tests/sim/memory_storage.h"

namespace weir::master {
namespace {

using Look = v1::JobShapeLearned::InputLook;

constexpr double kJobSecondsPerByte = 2e-9;

Look Counts(std::int64_t bytes, std::int64_t lines, std::int64_t words, std::int64_t new_words) {
  Look look;
  look.set_bytes(bytes);
  look.set_lines(lines);
  look.set_words(words);
  look.set_new_words(new_words);
  return look;
}

/// What a job taught that took so many times as long to map a byte as its own rates say.
v1::JobShapeLearned Known(const Look& look, double times) {
  v1::JobShapeLearned known;
  known.set_map_seconds_per_byte(times * kJobSecondsPerByte);
  *known.mutable_look() = look;
  return known;
}

/// Rows of one of so many keys and a number below a hundred, at random, 64 KiB or a little more.
Look LookAtRows(int keys, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string rows;
  while (rows.size() < 64 << 10) {
    const auto key = random() % static_cast<std::uint32_t>(keys);
    rows += "key" + std::to_string(10'000 + key) + ";" + std::to_string(random() % 100) + "\n";
  }
  return CountLook({rows});
}

TEST(InputLookTest, CountsLinesAndWordsAndWordsThatDiffer) {
  // ab, c, de, f, 12, 5; then one with a letter beyond ASCII, and ab once more.
  const std::vector<std::string> texts = {"ab c\nde-f;12.5\n", "ab\xC3\xA9 ab"};
  const Look look = CountLook(texts);
  EXPECT_EQ(look.bytes(), 22);
  EXPECT_EQ(look.lines(), 2);
  EXPECT_EQ(look.words(), 8);
  EXPECT_EQ(look.new_words(), 7);
}

TEST(InputLookTest, LooksAtPlacesOfPlainFilesOnly) {
  sim::MemoryStorage storage;
  ASSERT_TRUE(storage.MakeDirectory("/in").ok());
  std::string rows;
  while (rows.size() < 400'000) rows += "a b\n";
  ASSERT_TRUE(storage.WriteFile("/in/a", rows).ok());
  ASSERT_TRUE(storage.WriteFile("/in/b.gz", rows).ok());

  InputList plain{{{"/in/a", 400'000}}, 400'000};
  LookAtInput(storage, plain);
  ASSERT_TRUE(plain.look.has_value());
  EXPECT_EQ(plain.look->bytes(), kLookPlaces * kLookPlaceBytes);
  EXPECT_EQ(plain.look->new_words(), 2);

  // Four of eight places lie in the packed half.
  InputList both{{{"/in/a", 400'000}, {"/in/b.gz", 400'000}}, 800'000};
  LookAtInput(storage, both);
  ASSERT_TRUE(both.look.has_value());
  EXPECT_EQ(both.look->bytes(), kLookPlaces / 2 * kLookPlaceBytes);

  InputList packed{{{"/in/b.gz", 400'000}}, 400'000};
  LookAtInput(storage, packed);
  EXPECT_FALSE(packed.look.has_value());
}

TEST(InputLookTest, AnInputSmallerThanTheLookIsReadOnce) {
  sim::MemoryStorage storage;
  ASSERT_TRUE(storage.MakeDirectory("/in").ok());
  ASSERT_TRUE(storage.WriteFile("/in/a", std::string(800, 'x')).ok());
  InputList input{{{"/in/a", 800}}, 800};
  LookAtInput(storage, input);
  ASSERT_TRUE(input.look.has_value());
  EXPECT_EQ(input.look->bytes(), 800);
}

TEST(InputLookTest, AnInputThatCannotBeReadOrIsEmptyHasNoLook) {
  sim::MemoryStorage storage;
  InputList gone{{{"/in/gone", 400'000}}, 400'000};
  LookAtInput(storage, gone);
  EXPECT_FALSE(gone.look.has_value());
  InputList empty{{{"/in/empty", 0}}, 0};
  LookAtInput(storage, empty);
  EXPECT_FALSE(empty.look.has_value());
}

// Rows of 413 stations and of 10 000, as 64 KiB of each show them.
TEST(InputLookTest, HistoryOfOtherDataDoesNotCount) {
  const Look few = Counts(65'536, 4'600, 15'300, 470);
  const Look many = Counts(65'536, 3'540, 11'950, 3'300);
  EXPECT_FALSE(CountsUnsampled(Known(many, 1.5), &few, kJobSecondsPerByte));
  EXPECT_FALSE(CountsUnsampled(Known(few, 1.5), &many, kJobSecondsPerByte));
  EXPECT_TRUE(CountsUnsampled(Known(few, 1.5), &few, kJobSecondsPerByte));
}

TEST(InputLookTest, HistoryCountsWhereNothingTellsTheTwoApart) {
  const Look look = Counts(65'536, 4'600, 15'300, 470);
  v1::JobShapeLearned older = Known(look, 1.5);
  older.clear_look();  // as records that were written before there were looks
  EXPECT_TRUE(CountsUnsampled(older, &look, kJobSecondsPerByte));
  EXPECT_TRUE(CountsUnsampled(Known(look, 1.5), nullptr, kJobSecondsPerByte));
  // How many words of a hundred bytes are new says nothing of 64 KiB.
  EXPECT_TRUE(LooksAlike(Counts(100, 7, 23, 22), look));
}

TEST(InputLookTest, HistoryOfOtherDataCountsWhereTheJobsOwnRatesAreNoGuide) {
  const Look few = Counts(65'536, 4'600, 15'300, 470);
  const Look many = Counts(65'536, 3'540, 11'950, 3'300);
  EXPECT_FALSE(CountsUnsampled(Known(many, 0.9 * kRatesTell), &few, kJobSecondsPerByte));
  EXPECT_TRUE(CountsUnsampled(Known(many, 1.1 * kRatesTell), &few, kJobSecondsPerByte));
}

RC_GTEST_PROP(InputLookPropertyTest, SameKindOfDataIsAlikeAndFourTimesTheKeysAreNot, ()) {
  const int keys = *rc::gen::inRange(100, 5'000);
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  const Look first = LookAtRows(keys, seed);
  const Look again = LookAtRows(keys, seed + 1);
  const Look other = LookAtRows(4 * keys, seed + 2);
  RC_ASSERT(LooksAlike(first, again));
  RC_ASSERT(LooksAlike(again, first));
  RC_ASSERT(!LooksAlike(first, other));
  RC_ASSERT(!LooksAlike(other, first));
  RC_ASSERT(CountsUnsampled(Known(first, 1), &again, kJobSecondsPerByte));
  RC_ASSERT(!CountsUnsampled(Known(first, 1), &other, kJobSecondsPerByte));
}

}  // namespace
}  // namespace weir::master
