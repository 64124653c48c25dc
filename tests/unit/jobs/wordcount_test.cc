#include "jobs/wordcount/wordcount.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "jobs/api/bad_record.h"
#include "jobs/api/scan/byte_scan.h"
#include "jobs/api/step_error.h"
#include "jobs/testing/in_process_job.h"

namespace weir::wordcount {
namespace {

using testing::EvenCut;
using testing::JobCut;
using testing::RunJob;
using testing::ScratchFile;

// The oracle: what the job means, one byte at a time.
std::map<std::string, std::int64_t> CountBySight(const std::vector<std::string>& texts) {
  std::map<std::string, std::int64_t> counts;
  for (const std::string& text : texts) {
    std::string word;
    for (const char c : text + " ") {
      if (std::string_view(" \t\n\v\f\r").find(c) == std::string_view::npos) {
        word.push_back(c);
      } else if (!word.empty()) {
        ++counts[word];
        word.clear();
      }
    }
  }
  return counts;
}

std::string Lines(const std::map<std::string, std::int64_t>& counts) {
  std::string lines;
  for (const auto& [word, count] : counts) lines += word + "\t" + std::to_string(count) + "\n";
  return lines;
}

std::unique_ptr<JobProgram> Program() { return *MakeDefinition()->MakeProgram({{"top", "10"}}); }

// All parts as one map; fails when a part is not sorted or a word appears twice.
std::map<std::string, std::int64_t> Joined(const std::vector<std::string>& parts) {
  std::map<std::string, std::int64_t> counts;
  for (const std::string& part : parts) {
    std::string last;
    bool first = true;
    for (std::size_t at = 0; at < part.size();) {
      const std::size_t end = part.find('\n', at);
      const std::size_t tab = part.rfind('\t', end);
      const std::string word = part.substr(at, tab - at);
      EXPECT_TRUE(first || last < word) << word;
      EXPECT_TRUE(counts.emplace(word, std::stoll(part.substr(tab + 1, end - tab - 1))).second);
      last = word;
      first = false;
      at = end + 1;
    }
  }
  return counts;
}

void ExpectCounts(const std::string& text) {
  const ScratchFile file(text);
  for (const auto& [mappers, reducers, slots] :
       {std::tuple(1, 1, 1), std::tuple(3, 2, 2), std::tuple(1, 5, 4)}) {
    const auto parts = RunJob(*Program(), EvenCut({file.path()}, mappers, reducers, slots));
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_EQ(Joined(*parts), CountBySight({text})) << mappers << reducers << slots;
  }
}

TEST(WordCount, EmptyInputGivesEmptyParts) { ExpectCounts(""); }
TEST(WordCount, OnlySpaces) { ExpectCounts(" \t\n\v\f\r  "); }
TEST(WordCount, NoFinalNewline) { ExpectCounts("to be or not to be"); }
TEST(WordCount, NulBytesAreLetters) { ExpectCounts(std::string("a\0b a\0b \0 a", 11)); }
TEST(WordCount, AllBytes) {
  std::string all;
  for (int i = 0; i < 256 * 300; ++i) all.push_back(static_cast<char>(i * (i >> 8)));
  ExpectCounts(all);
}
TEST(WordCount, OneHugeWord) { ExpectCounts("x " + std::string(3 << 20, 'w') + " x"); }
TEST(WordCount, HugeWordsThatDifferAtTheEnd) {
  const std::string word(700 << 10, 'w');
  ExpectCounts(word + "1 " + word + "2\n" + word + "1");
}
TEST(WordCount, WordsOfEveryLengthAcrossEveryChunk) {
  std::string text;
  for (int i = 0; i < 40000; ++i) text += std::string(static_cast<std::size_t>(i % 41), 'a') + "\n";
  ExpectCounts(text);
}
TEST(WordCount, MoreWordsThanTheSmallTableHolds) {
  std::string text;
  for (int i = 0; i < 60000; ++i) text += "word-number-" + std::to_string(i * 7919 % 30011) + " ";
  ExpectCounts(text);
}

TEST(WordCount, WordBeyondTheLimitIsABadRecord) {
  std::string text = "x ";
  text.append(static_cast<std::size_t>(kRecordBytesMax) + (1 << 20), 'w');
  const ScratchFile file(text);
  const auto parts = RunJob(*Program(), EvenCut({file.path()}, 1, 1, 2));
  const auto bad = BadRecordOf(parts.status());
  ASSERT_TRUE(bad.has_value()) << parts.status();
  EXPECT_EQ(bad->file, file.path());
  EXPECT_EQ(bad->byte_offset, 2);
  EXPECT_NE(bad->reason.find("limit"), std::string::npos);
}

TEST(WordCount, MissingChangedAndUnreadableFilesAreNamed) {
  const ScratchFile file("some words");
  JobCut cut = EvenCut({file.path()}, 1, 1, 1);
  cut.mappers[0][0].file_bytes += 1;
  auto error = StepErrorOf(RunJob(*Program(), cut).status());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, step_error::kInputChanged);
  EXPECT_EQ(error->file, file.path());

  cut.mappers[0][0].path += ".missing";
  error = StepErrorOf(RunJob(*Program(), cut).status());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, step_error::kInputNotFound);

  cut.mappers[0][0].path = "/";
  error = StepErrorOf(RunJob(*Program(), cut).status());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, step_error::kInputUnreadable);
}

TEST(WordCount, MemoryBoundIsKept) {
  std::string text;
  for (int i = 0; i < 400000; ++i) text += std::to_string(i) + "abcdefghijklmnopqrstuvwxyz ";
  const ScratchFile file(text);
  testing::RecordingContext context(2, 8 << 20);
  testing::MemoryRun run;
  const auto totals = Program()->Map({{file.range()}, {1.0}}, run, context);
  const auto error = StepErrorOf(totals.status());
  ASSERT_TRUE(error.has_value()) << totals.status();
  EXPECT_EQ(error->code, step_error::kOutOfMemory);
}

TEST(WordCount, CancelledStepEnds) {
  const ScratchFile file("a b c");
  testing::RecordingContext context(2);
  context.cancel = true;
  testing::MemoryRun run;
  EXPECT_EQ(Program()->Map({{file.range()}, {1.0}}, run, context).status().code(),
            absl::StatusCode::kCancelled);
}

TEST(WordCount, PresentShowsTheMostFrequentFirst) {
  const ScratchFile one("a\t3\nb\t12\n");
  const ScratchFile two("c\t3\nd\t1\n");
  std::ostringstream out;
  const auto definition = MakeDefinition();
  ASSERT_TRUE(definition->Present({one.path(), two.path()}, {{"top", "3"}}, out).ok());
  EXPECT_EQ(out.str(), "12 b\n 3 a\n 3 c\n");
  std::ostringstream none;
  ASSERT_TRUE(definition->Present({one.path(), two.path()}, {{"top", "0"}}, none).ok());
  EXPECT_EQ(none.str(), "");
  const ScratchFile damaged("a 3\n");
  EXPECT_EQ(definition->Present({damaged.path()}, {{"top", "3"}}, none).code(),
            absl::StatusCode::kDataLoss);
  EXPECT_FALSE(definition->Present({"/missing/part"}, {{"top", "3"}}, none).ok());
}

rc::Gen<std::string> Text() {
  return rc::gen::container<std::string>(rc::gen::weightedElement<char>(
      {{6, 'a'}, {3, 'b'}, {4, ' '}, {2, '\n'}, {1, '\0'}, {1, '\r'}, {1, '\x80'}, {1, '\t'}}));
}

RC_GTEST_PROP(WordCountProperty, AnyCutGivesTheSameCounts, ()) {
  const auto texts = *rc::gen::container<std::vector<std::string>>(3, Text());
  const int mappers = *rc::gen::inRange(1, 6);
  const int reducers = *rc::gen::inRange(1, 5);
  const int slots = *rc::gen::inRange(1, 5);
  const ScratchFile a(texts[0]), b(texts[1]), c(texts[2]);
  const JobCut cut = EvenCut({a.path(), b.path(), c.path()}, mappers, reducers, slots);
  const auto expected = CountBySight(texts);
  const auto parts = RunJob(*Program(), cut);
  RC_ASSERT(parts.ok());
  RC_ASSERT(Joined(*parts) == expected);
  if (reducers == 1) RC_ASSERT((*parts)[0] == Lines(expected));
}

RC_GTEST_PROP(ByteScanProperty, VectorAndPortableMasksAgree, ()) {
  std::string text = *rc::gen::container<std::string>(64, rc::gen::arbitrary<char>());
  RC_ASSERT(AsciiSpaceMask(text.data()) == MaskPortable(text.data(), IsAsciiSpace));
  const char a = *rc::gen::elementOf(text);
  const char b = *rc::gen::arbitrary<char>();
  RC_ASSERT(EqualMask16(text.data(), a) ==
            (MaskPortable(text.data(), [a](char c) { return c == a; }) & 0xffff));
  RC_ASSERT(EitherMask(text.data(), a, b) ==
            MaskPortable(text.data(), [&](char c) { return c == a || c == b; }));
}

TEST(ByteScan, EveryByteIsClassifiedAsTheOracleDoes) {
  std::string text(64, 'x');
  for (int i = 0; i < 256; ++i) {
    text[static_cast<std::size_t>(i % 64)] = static_cast<char>(i);
    EXPECT_EQ(AsciiSpaceMask(text.data()), MaskPortable(text.data(), IsAsciiSpace)) << i;
  }
}

}  // namespace
}  // namespace weir::wordcount
