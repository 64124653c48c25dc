#include "jobs/topwords/topwords.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jobs/records/random_numbers.h"
#include "jobs/testing/in_process_job.h"
#include "jobs/topwords/word_sketch.h"
#include "tests/unit/jobs/random_tree.h"

namespace weir::topwords {
namespace {

using testing::EvenCut;
using testing::ScratchFile;

using Given = std::vector<std::pair<std::string, std::string>>;

std::string BytesOf(const WordSketch& sketch) {
  std::string bytes;
  sketch.AppendTo(bytes);
  return bytes;
}

std::string WordAt(std::uint64_t seed, std::uint64_t i, double skew, std::uint64_t distinct) {
  return "w" + std::to_string(SkewedRank(RandomOf(seed, i, 0), skew, distinct));
}

WordSketch SketchOf(const SketchForm& form, const std::vector<std::string>& words) {
  WordSketch sketch(form);
  for (const std::string& word : words) sketch.Add(word);
  return sketch;
}

std::vector<std::string> DrawWords(std::uint64_t distinct) {
  std::vector<std::string> words;
  const auto count = *rc::gen::inRange<std::uint64_t>(0, 400);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  for (std::uint64_t i = 0; i < count; ++i) words.push_back(WordAt(seed, i, 0.9, distinct));
  return words;
}

RC_GTEST_PROP(WordSketch, CombineIsCommutativeToTheByteAndItsCellsAreThoseOfAllWords, ()) {
  const SketchForm form{16, 5};
  const std::vector<std::string> first = DrawWords(50);
  const std::vector<std::string> second = DrawWords(50);
  WordSketch forward = SketchOf(form, first);
  forward.Combine(SketchOf(form, second));
  WordSketch backward = SketchOf(form, second);
  backward.Combine(SketchOf(form, first));
  RC_ASSERT(BytesOf(forward) == BytesOf(backward));
  std::vector<std::string> all = first;
  all.insert(all.end(), second.begin(), second.end());
  RC_ASSERT(forward.SameCells(SketchOf(form, all)));
}

RC_GTEST_PROP(WordSketch, FrequentWordsAreNeverMissedHoweverTheyAreGrouped, ()) {
  const SketchForm form{64, 4};
  WordSketch sketch(form);
  std::map<std::string, std::int64_t> counts;
  std::int64_t total = 0;
  for (int part = 0; part < 5; ++part) {
    const std::vector<std::string> words = DrawWords(30);
    for (const std::string& word : words) ++counts[word];
    total += static_cast<std::int64_t>(words.size());
    sketch.Combine(SketchOf(form, words));
  }
  RC_ASSERT(sketch.num_words() == total);
  const std::vector<ListedWord> listed = sketch.Listed();
  RC_ASSERT(listed.size() <= form.capacity);
  for (const auto& [word, count] : counts) {
    RC_ASSERT(sketch.Estimate(word) >= count);
    const auto found = std::find_if(listed.begin(), listed.end(),
                                    [&](const ListedWord& one) { return one.word == word; });
    if (count * static_cast<std::int64_t>(form.capacity + 1) > total) {
      RC_ASSERT(found != listed.end());
    }
    if (found != listed.end()) RC_ASSERT(found->count <= count);
  }
}

RC_GTEST_PROP(WordSketch, PiecesCombineAsTheWholeDoes, ()) {
  const SketchForm form{16, 5};
  const WordSketch a = SketchOf(form, DrawWords(50));
  const WordSketch b = SketchOf(form, DrawWords(50));
  WordSketch whole = a;
  whole.Combine(b);
  const std::int64_t places = WordSketch::PlacesOf(form);
  const auto cut = *rc::gen::inRange<std::int64_t>(0, places + 1);
  const auto inner = *rc::gen::inRange<std::int64_t>(0, cut + 1);
  WordSketch front = a.Split(0, cut).Split(0, inner);
  front.Join(a.Split(0, cut).Split(inner, cut));
  front.Combine(b.Split(0, cut));
  WordSketch back = a.Split(cut, places);
  back.Combine(b.Split(cut, places));
  if (cut == 0) {
    back.Join(front);
    RC_ASSERT(BytesOf(back) == BytesOf(whole));
  } else {
    front.Join(back);
    RC_ASSERT(BytesOf(front) == BytesOf(whole));
  }
}

TEST(WordSketch, EstimatesKeepTheirBound) {
  const SketchForm form{1024, 10};
  WordSketch sketch(form);
  std::map<std::string, std::int64_t> counts;
  constexpr std::uint64_t kWords = 100'000;
  for (std::uint64_t i = 0; i < kWords; ++i) {
    const std::string word = WordAt(1, i, 0.5, 20'000);
    ++counts[word];
    sketch.Add(word);
  }
  std::int64_t beyond = 0;
  for (const auto& [word, count] : counts) {
    ASSERT_GE(sketch.Estimate(word), count);
    if (static_cast<double>(sketch.Estimate(word) - count) > std::exp(1.0) * kWords / 1024) {
      ++beyond;
    }
  }
  EXPECT_LE(static_cast<double>(beyond), std::exp(-4.0) * static_cast<double>(counts.size()));
}

TEST(WordSketch, DamagedBytesAreRefusedAndMemoryIsSaid) {
  const WordSketch sketch = SketchOf({16, 5}, {"a", "b", "a", "a rather long word of the text"});
  EXPECT_GE(sketch.heap_bytes(), 8 * 64);
  const std::string bytes = BytesOf(sketch);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    std::string_view cut(bytes.data(), length);
    WordSketch taken;
    EXPECT_FALSE(WordSketch::Take(cut, taken)) << length;
  }
  std::string_view in = bytes;
  WordSketch taken;
  ASSERT_TRUE(WordSketch::Take(in, taken));
  EXPECT_TRUE(in.empty());
  EXPECT_EQ(BytesOf(taken), bytes);
}

/// The words of a text by brute force, the most frequent first.
std::string MostFrequent(const std::vector<std::string>& words, std::size_t top) {
  std::map<std::string, std::int64_t> counts;
  for (const std::string& word : words) ++counts[word];
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  for (const auto& [word, count] : counts) sorted.emplace_back(-count, word);
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() > top) sorted.resize(top);
  std::string text;
  for (const auto& [count, word] : sorted) {
    text += word + "\t" + std::to_string(-count) + "\n";
  }
  return text;
}

RC_GTEST_PROP(TopWords, AnyTreeOfFewWordsIsTheExactCount, ()) {
  std::vector<std::string> words = DrawWords(60);
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) text += words[i] + (i % 7 == 0 ? "\n" : " \t");
  const ScratchFile file(text);
  const auto program = testing::ProgramOf(
      *MakeDefinition(), Given{{"top", "7"}, {"candidates", "60"}, {"log2-width", "16"}});
  const auto parts = testing::RunAlongRandomTree(
      *program, EvenCut({file.path()}, *rc::gen::inRange(1, 6), 1, *rc::gen::inRange(1, 3)), 1,
      *rc::gen::arbitrary<std::uint64_t>());
  RC_ASSERT(parts.ok());
  RC_ASSERT((*parts)[0] == MostFrequent(words, 7));
}

// As text8, which has no newline: no part of it is a record of a hundred megabytes.
TEST(TopWords, ATextMayBeOneLine) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "to be or not to be ";
  const ScratchFile file(text);
  const auto program = testing::ProgramOf(*MakeDefinition(), Given{});
  for (const auto& ranges : EvenCut({file.path()}, 2, 1, 1).mappers) {
    testing::MemoryRun run;
    testing::RecordingContext context(1);
    const auto totals = program->Map({ranges, {1.0}}, run, context);
    ASSERT_TRUE(totals.ok()) << totals.status();
    EXPECT_EQ(totals->input_records, 3000) << "half of the words";
  }
}

TEST(TopWords, WordsAreThoseOfWordCountWhateverPartsThem) {
  const auto program = testing::ProgramOf(*MakeDefinition(), Given{});
  for (const int mappers : {1, 2, 5}) {
    const auto counted = testing::RunOnText(*program, " a\tb\v\fa\r\n\n b  c\na", mappers, 1, 2);
    ASSERT_TRUE(counted.ok()) << counted.status();
    EXPECT_EQ(*counted, "a\t3\nb\t2\nc\t1\n");
  }
}

TEST(TopWords, ElementIsOfTheSketchAndTheResultHasOneReducer) {
  const auto job = MakeDefinition();
  const auto values = CheckParameters(job->info(), Given{{"log2-width", "4"}});
  ASSERT_TRUE(values.ok());
  const ElementInfo element = job->Element(*values, 1);
  EXPECT_EQ(element.places, 65);
  EXPECT_EQ(element.place_bytes, 8);
  EXPECT_TRUE(element.commutative && element.splits && element.one_reducer);
}

}  // namespace
}  // namespace weir::topwords
