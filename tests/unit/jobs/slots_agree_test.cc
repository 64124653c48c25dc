// What a step writes does not depend on the number of slots that wrote it.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jobs/api/readers.h"
#include "jobs/engine/group_values.h"
#include "jobs/engine/make_program.h"
#include "jobs/engine/pairs/group_buffer.h"
#include "jobs/engine/pairs/sorted_pairs.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/testing/in_process_job.h"
#include "tests/unit/jobs/count_lines.h"

namespace weir {
namespace {

using testing::EvenKeyEnds;
using testing::MemoryRun;
using testing::RecordingContext;
using testing::RunOnText;

constexpr int kSlotCounts[] = {1, 2, 3, 7, 16};

// Some keys cannot be printed.
struct CountLines : testing::CountLines {
  void Format(std::string_view key, const Value& value, std::string& out) const {
    if (key == "unprintable") throw std::runtime_error("cannot print that");
    testing::CountLines::Format(key, value, out);
  }
};

struct CountLinesByLength : CountLines {
  double Partition(std::string_view line) const {
    return static_cast<double>(line.size() % 10) / 10;
  }
};

struct SortLines {
  using Reader = TextLines;
  using Key = std::string;
  using Value = std::string;
  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    emit(line.substr(0, line.find(' ')), std::string(line));
  }
  template <typename Emit>
  void Reduce(std::string_view key, GroupValues<Value>& values, Emit&& emit) const {
    Value value;
    while (values.Next(value)) emit(key, value);
  }
  void Format(std::string_view, const Value& value, std::string& out) const {
    absl::StrAppend(&out, value, "\n");
  }
};

std::string ManyLines(std::uint64_t seed, int lines, std::uint64_t distinct) {
  std::mt19937_64 random(seed);
  std::string text;
  for (int i = 0; i < lines; ++i) {
    absl::StrAppend(&text, "key", random() % distinct * 7919, " ", random() % 10, "\n");
  }
  return text;
}

// Blocks of each section as a step wrote them.
std::map<int, std::vector<std::string>> Mapped(JobProgram& program, const std::string& text,
                                               int consumers, int slots) {
  const testing::ScratchFile file(text);
  MemoryRun run;
  RecordingContext context(slots);
  const auto totals = program.Map({{file.range()}, EvenKeyEnds(consumers)}, run, context);
  EXPECT_TRUE(totals.ok()) << totals.status();
  EXPECT_EQ(totals->output_records, run.records());
  return run.sections();
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::map<int, Pairs> PairsOf(const std::map<int, std::vector<std::string>>& sections) {
  std::map<int, Pairs> pairs;
  for (const auto& [consumer, blocks] : sections) {
    testing::MemorySource source(blocks);
    SectionReader reader(source);
    SectionRecord record;
    for (auto more = reader.Next(record); more.ok() && *more; more = reader.Next(record)) {
      pairs[consumer].emplace_back(record.key, record.value);
    }
    std::sort(pairs[consumer].begin(), pairs[consumer].end());
  }
  return pairs;
}

TEST(SlotsAgree, RunsOfSortedPairsAreTheSameToTheByte) {
  const auto program = MakeJobProgram(SortLines());
  for (const std::string& text :
       {ManyLines(1, 100'000, 1'000'000), ManyLines(2, 80'000, 3), std::string("a 1\nb 2\n"),
        std::string(), "k " + std::string(900 << 10, 'v') + "\nk w\na x\n"}) {
    for (const int consumers : {1, 5}) {
      const auto one = Mapped(*program, text, consumers, 1);
      for (const int slots : kSlotCounts) EXPECT_EQ(Mapped(*program, text, consumers, slots), one);
    }
  }
}

TEST(SlotsAgree, RunsOfCombinedPairsHoldTheSame) {
  const auto by_hash = MakeJobProgram(CountLines());
  const auto by_length = MakeJobProgram(CountLinesByLength());
  for (JobProgram* const program : {by_hash.get(), by_length.get()}) {
    for (const std::string& text :
         {ManyLines(1, 70'000, 10'000'000), ManyLines(2, 3'000, 3), std::string()}) {
      const auto one = PairsOf(Mapped(*program, text, 5, 1));
      // The same slots, the same bytes.
      EXPECT_EQ(Mapped(*program, text, 5, 3), Mapped(*program, text, 5, 3));
      for (const int slots : kSlotCounts) {
        EXPECT_EQ(PairsOf(Mapped(*program, text, 5, slots)), one);
      }
    }
  }
}

TEST(SlotsAgree, PartsAreTheSameToTheByte) {
  const auto counts = MakeJobProgram(CountLines());
  const auto by_length = MakeJobProgram(CountLinesByLength());
  const auto sorted = MakeJobProgram(SortLines());
  for (JobProgram* const program : {counts.get(), by_length.get(), sorted.get()}) {
    for (const std::string& text : {ManyLines(3, 70'000, 10'000'000), ManyLines(4, 3'000, 2),
                                    std::string("one\n"), std::string()}) {
      for (const int reducers : {1, 3}) {
        const auto one = RunOnText(*program, text, 2, reducers, 1);
        ASSERT_TRUE(one.ok()) << one.status();
        for (const int slots : kSlotCounts) {
          const auto many = RunOnText(*program, text, 2, reducers, slots);
          ASSERT_TRUE(many.ok()) << many.status();
          EXPECT_TRUE(*many == *one) << slots << " slots";
        }
      }
    }
  }
}

// Sections that are larger than what is held of them.
TEST(SlotsAgree, PartsOfManyPairsAreTheSameToTheByte) {
  const auto program = MakeJobProgram(SortLines());
  std::string text;
  std::mt19937_64 random(6);
  for (int i = 0; i < 50'000; ++i) {
    absl::StrAppend(&text, "key", random() % 20'000, " ", std::string(200, 'v'), i, "\n");
  }
  const auto one = RunOnText(*program, text, 3, 1, 1);
  ASSERT_TRUE(one.ok()) << one.status();
  for (const int slots : kSlotCounts) {
    const auto many = RunOnText(*program, text, 3, 1, slots);
    ASSERT_TRUE(many.ok()) << many.status();
    EXPECT_TRUE(*many == *one) << slots << " slots";
  }
}

// A group that is larger than what is held to cut sections, between others; and records larger than
// blocks, pieces and what a piece may hold.
TEST(SlotsAgree, PartsOfHugeGroupsAndRecordsAreTheSameToTheByte) {
  const auto program = MakeJobProgram(SortLines());
  std::string most_of_one_key;
  std::mt19937_64 random(7);
  for (int i = 0; i < 24'000; ++i) {
    const std::uint64_t key = random() % 10 == 0 ? random() % 1'000 : 500;
    absl::StrAppend(&most_of_one_key, "key", key, " ", std::string(1'000, 'v'), i, "\n");
  }
  std::string long_lines;
  for (const int bytes : {10, 300 << 10, 1'200 << 10, 5 << 20, 100, 2 << 20, 5}) {
    absl::StrAppend(&long_lines, "key", bytes % 7, " ", std::string(bytes, 'v'), "\n");
  }
  for (const std::string& text : {most_of_one_key, long_lines}) {
    const auto one = RunOnText(*program, text, 8, 1, 1);
    ASSERT_TRUE(one.ok()) << one.status();
    EXPECT_EQ(one->size(), text.size());
    for (const int slots : kSlotCounts) {
      const auto many = RunOnText(*program, text, 8, 1, slots);
      ASSERT_TRUE(many.ok()) << many.status();
      EXPECT_TRUE(*many == *one) << slots << " slots";
    }
  }
}

struct CannotReduce : SortLines {
  template <typename Emit>
  void Reduce(std::string_view key, GroupValues<Value>& values, Emit&& emit) const {
    if (key.ends_with("77")) throw std::runtime_error("cannot reduce " + std::string(key));
    SortLines::Reduce(key, values, emit);
  }
};

// Of many groups that throw the first one counts, whichever slot had it.
TEST(SlotsAgree, WhatReduceThrowsFirstComesOut) {
  const auto program = MakeJobProgram(CannotReduce());
  std::string text;
  for (int i = 0; i < 30'000; ++i) {
    absl::StrAppend(&text, "key", 10'000 + i * 7919 % 20'000, " ", std::string(300, 'v'), "\n");
  }
  for (const int slots : kSlotCounts) {
    std::string thrown;
    try {
      RunOnText(*program, text, 2, 1, slots).IgnoreError();
    } catch (const std::runtime_error& error) {
      thrown = error.what();
    }
    EXPECT_EQ(thrown, "cannot reduce key10077") << slots << " slots";
  }
}

TEST(SlotsAgree, WhatFormatThrowsComesOut) {
  const auto program = MakeJobProgram(CountLines());
  for (const int slots : kSlotCounts) {
    EXPECT_THROW(
        RunOnText(*program, ManyLines(5, 70'000, 10'000'000) + "unprintable\n", 2, 1, slots)
            .IgnoreError(),
        std::runtime_error);
  }
}

// However pairs are dealt out to buffers, and whoever writes them.
RC_GTEST_PROP(SlotsAgreeProperty, SortedBuffersGiveTheSameBlocks, ()) {
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  const auto pairs = *rc::gen::inRange<std::size_t>(0, 3'000);
  const auto distinct = *rc::gen::inRange<std::uint64_t>(1, 3'000);
  std::vector<std::pair<std::string, std::string>> given(pairs);
  for (std::size_t i = 0; i < pairs; ++i) {
    given[i] = {std::to_string(random() % distinct), std::string(random() % 3'000, 'v')};
    given[i].second += std::to_string(i);
  }
  std::map<int, std::vector<std::string>> first;
  for (const int slots : kSlotCounts) {
    const std::size_t num_buffers = slots == 1 ? 1 : *rc::gen::inRange<std::size_t>(1, 6);
    std::deque<GroupBuffer> buffers(num_buffers);
    std::vector<GroupBuffer*> sorted;
    for (std::size_t b = 0; b < num_buffers; ++b) {
      for (std::size_t i = pairs * b / num_buffers; i < pairs * (b + 1) / num_buffers; ++i) {
        buffers[b].Add(given[i].first.back() - '0', given[i].first, given[i].second);
      }
      buffers[b].Sort();
      sorted.push_back(&buffers[b]);
    }
    MemoryRun run;
    RecordingContext context(slots);
    const auto written = WriteSorted(sorted, nullptr, run, context);
    RC_ASSERT(written.ok());
    RC_ASSERT(*written == static_cast<std::int64_t>(pairs));
    if (slots == 1) first = run.sections();
    RC_ASSERT(run.sections() == first);
  }
}

}  // namespace
}  // namespace weir
