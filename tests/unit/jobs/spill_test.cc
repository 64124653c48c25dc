// Steps whose memory is full: what they make is what they make with enough of it, whatever lay on
// disk between.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "jobs/api/step_error.h"
#include "jobs/engine/make_program.h"
#include "jobs/engine/sections/merged_sections.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/engine/spill/slot_spills.h"
#include "jobs/testing/in_process_job.h"
#include "tests/unit/jobs/count_lines.h"
#include "tests/unit/jobs/sort_lines.h"
#include "tests/unit/jobs/sort_records.h"

namespace weir {
namespace {

using testing::CountLines;
using testing::EvenCut;
using testing::JobCut;
using testing::JobLog;
using testing::LinesOfCount;
using testing::RecordingContext;
using testing::ScratchFile;
using testing::SortLines;
using testing::SortRecords;

struct CountLinesByLength : CountLines {
  double Partition(std::string_view line) const {
    return static_cast<double>(line.size() % 10) / 10;
  }
};

// Lines "key rest": what follows the keys, in the order of the input.
struct JoinRests : CountLines {
  using Value = std::string;
  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    const std::size_t space = line.find(' ');
    emit(line.substr(0, space), std::string(line.substr(space + 1)) + ",");
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::string_view key, const Value& value, std::string& out) const {
    absl::StrAppend(&out, std::string(key), " ", value, "\n");
  }
};

struct SortLinesByRest : SortLines {
  std::string SortKey(const Value& value) const { return value; }
};

std::string ManyLines(std::uint64_t seed, int lines, std::uint64_t distinct) {
  std::mt19937_64 random(seed);
  std::string text;
  for (int i = 0; i < lines; ++i) {
    const std::uint64_t key = random() % distinct;
    absl::StrAppend(&text, "key", key * 7919);
    // Some that a table does not hold in place.
    if (key % 3 == 0) absl::StrAppend(&text, "abcdefghijklmnopqrst");
    absl::StrAppend(&text, " ", i, "\n");
  }
  return text;
}

// With much and with little memory; returns how many files the latter took.
int ExpectTheSame(JobProgram& program, const JobCut& cut, std::int64_t spill_above) {
  const auto expected = testing::RunJob(program, cut);
  EXPECT_TRUE(expected.ok()) << expected.status();
  JobLog log;
  log.spill_above = spill_above;
  const auto spilled = testing::RunJob(program, cut, log);
  EXPECT_TRUE(spilled.ok()) << spilled.status();
  EXPECT_TRUE(expected.ok() && spilled.ok() && *spilled == *expected);
  return log.num_spills;
}

template <typename Program>
void CheckProgram(Program& program, std::uint64_t seed, const std::string& text) {
  const ScratchFile file(text);
  for (const int slots : {1, 3}) {
    for (const int reducers : {1, 4}) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", ", slots, " slots, ", reducers, " reducers"));
      JobCut cut = EvenCut({file.path()}, 2, reducers, slots);
      EXPECT_GT(ExpectTheSame(program, cut, 300 << 10), 2 * slots);
    }
  }
}

TEST(Spill, CountsAreThoseOfOneTable) {
  CheckProgram(*MakeJobProgram(CountLines()), 1, ManyLines(1, 60'000, 30'000));
  CheckProgram(*MakeJobProgram(CountLinesByLength()), 2, ManyLines(2, 60'000, 30'000));
}

TEST(Spill, ValuesOfAKeyMeetInTheOrderOfTheInput) {
  CheckProgram(*MakeJobProgram(JoinRests()), 3, ManyLines(3, 100'000, 3'000));
}

TEST(Spill, PairsStayInTheirOrder) {
  CheckProgram(*MakeJobProgram(SortLines()), 4, ManyLines(4, 60'000, 3'000));
  CheckProgram(*MakeJobProgram(SortLinesByRest()), 5, ManyLines(5, 60'000, 300));
}

TEST(Spill, ResultsOfALayerReachTheNext) {
  const auto program = MakeChainProgram(CountLines(), LinesOfCount());
  const ScratchFile file(ManyLines(6, 100'000, 30'000));
  for (const int slots : {1, 3}) {
    JobCut cut = EvenCut({file.path()}, 2, 3, slots);
    cut.inner_key_ends = {testing::EvenKeyEnds(2)};
    EXPECT_GT(ExpectTheSame(*program, cut, 300 << 10), 0);
  }
}

TEST(Spill, PartialResultsAreCombined) {
  const auto program = MakeJobProgram(CountLines());
  const ScratchFile file(ManyLines(7, 100'000, 30'000));
  JobCut cut = EvenCut({file.path()}, 3, 2, 2);
  cut.combined_layers = {1};
  EXPECT_GT(ExpectTheSame(*program, cut, 300 << 10), 0);
}

// More than is mapped at a time, so that some of the pairs lie in the input and some do not.
TEST(Spill, RecordsInPlaceAndCopiesAreSortedTogether) {
  std::mt19937_64 random(8);
  std::string records(std::size_t{120'000} * 100, 'v');
  for (char& c : records) c = static_cast<char>('a' + random() % 26);
  const ScratchFile file(records);
  const auto program = MakeJobProgram(SortRecords());
  for (const int slots : {1, 2}) {
    EXPECT_GT(ExpectTheSame(*program, EvenCut({file.path()}, 1, 2, slots), 4 << 20), 1);
  }
}

// Fewer pairs than are worth a file by their number.
TEST(Spill, FewLargePairsGoToDiskToo) {
  std::string text;
  for (int i = 0; i < 80; ++i) {
    absl::StrAppend(&text, "key", i * 7 % 80, " ", std::string(100 << 10, 'v'), i, "\n");
  }
  const ScratchFile file(text);
  EXPECT_GT(ExpectTheSame(*MakeJobProgram(SortLines()), EvenCut({file.path()}, 1, 2, 1), 1 << 20),
            0);
}

TEST(Spill, KeysThatFitBesideEachOtherStayInMemory) {
  const ScratchFile file(ManyLines(9, 60'000, 30'000));
  EXPECT_EQ(ExpectTheSame(*MakeJobProgram(CountLines()), EvenCut({file.path()}, 2, 2, 1), 64 << 20),
            0);
}

// One key has a third of all pairs, and more than the memory.
TEST(Spill, OneKeyMayHaveManyPairs) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) {
    absl::StrAppend(&text, i % 3 == 0 ? "hot" : absl::StrCat("key", i), " ", i, "\n");
  }
  CheckProgram(*MakeJobProgram(SortLines()), 0, text);
}

TEST(Spill, FewLargeValuesAreStillTooMuch) {
  std::string text;
  for (int i = 0; i < 8; ++i) absl::StrAppend(&text, "k ", std::string(200 << 10, 'v'), "\n");
  const ScratchFile file(text);
  testing::MemoryRun run;
  RecordingContext context(1, 1 << 20);
  context.spill_above = 1 << 20;
  const auto totals = MakeJobProgram(JoinRests())->Map({{file.range()}, {1.0}}, run, context);
  const auto error = StepErrorOf(totals.status());
  ASSERT_TRUE(error.has_value()) << totals.status();
  EXPECT_EQ(error->code, step_error::kOutOfMemory);
}

// A disk that takes a few files.
class FullDisk : public RecordingContext {
 public:
  FullDisk(int num_slots, int files) : RecordingContext(num_slots), files_(files) {
    spill_above = 300 << 10;
  }
  absl::StatusOr<std::unique_ptr<SpillFile>> NewSpill() override {
    if (num_spills == files_) return absl::ResourceExhaustedError("no space left on device");
    return RecordingContext::NewSpill();
  }

 private:
  const int files_;
};

TEST(Spill, AFullDiskIsTheStepsError) {
  const ScratchFile file(ManyLines(10, 100'000, 50'000));
  for (const int files : {0, 1, 3}) {
    for (const bool grouped : {false, true}) {
      const auto program = grouped ? MakeJobProgram(SortLines()) : MakeJobProgram(CountLines());
      testing::MemoryRun run;
      FullDisk context(2, files);
      const auto totals = program->Map({{file.range()}, {1.0}}, run, context);
      EXPECT_EQ(totals.status().code(), absl::StatusCode::kResourceExhausted) << totals.status();
      EXPECT_EQ(totals.status().message(), "no space left on device");
    }
  }
}

TEST(Spill, ACancelledMergeEnds) {
  const ScratchFile file(ManyLines(11, 100'000, 50'000));
  class CancelledLater : public RecordingContext {
   public:
    using RecordingContext::RecordingContext;
    absl::StatusOr<std::unique_ptr<SpillFile>> NewSpill() override {
      cancel = true;
      return RecordingContext::NewSpill();
    }
  } context(1);
  context.spill_above = 300 << 10;
  testing::MemoryRun run;
  const auto totals = MakeJobProgram(CountLines())->Map({{file.range()}, {1.0}}, run, context);
  EXPECT_EQ(totals.status().code(), absl::StatusCode::kCancelled) << totals.status();
}

TEST(SlotSpills, AsManySlotsMergeAsHaveRoom) {
  RecordingContext context(8);
  EXPECT_EQ(MergingSlots(1000, context), 8) << "nobody says how much";
  context.spill_above = 64 << 20;
  EXPECT_EQ(MergingSlots(0, context), 8);
  EXPECT_EQ(MergingSlots(16, context), 4);
  EXPECT_EQ(MergingSlots(1000, context), 1);
}

// Many files become few: their records come back in order, whatever their number.
RC_GTEST_PROP(SlotSpillsProperty, AreOneSortedSequence, ()) {
  const auto num_files = *rc::gen::inRange(0, 300);
  const auto num_consumers = *rc::gen::inRange(1, 4);
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  RecordingContext context(1);
  context.spill_above = 1;
  const auto merge = [](int consumer, const RunSources& sources, RunSink& sink) {
    MergedSections merged(sources, [] { return false; });
    SectionWriter writer(sink);
    absl::Status status = writer.Begin(consumer);
    while (status.ok() && merged.NextGroup()) {
      for (std::string_view value; status.ok() && merged.NextValue(value);) {
        status = writer.Add(merged.key(), value);
      }
    }
    return status.ok() ? writer.Finish() : status;
  };
  SlotSpills spills(num_consumers, merge);
  std::map<int, std::multimap<std::string, std::string>> expected;
  int next = 0;
  for (int i = 0; i < num_files; ++i) {
    std::map<int, std::multimap<std::string, std::string>> file;
    for (int j = static_cast<int>(random() % 5); j > 0; --j) {
      const int consumer = static_cast<int>(random() % static_cast<std::uint64_t>(num_consumers));
      const std::string key = absl::StrCat(random() % 7);
      const std::string value = absl::StrCat(next++);
      file[consumer].emplace(key, value);
      expected[consumer].emplace(key, value);
    }
    const absl::Status added = spills.Add(context, [&](RunSink& sink) {
      SectionWriter writer(sink);
      for (const auto& [consumer, pairs] : file) {
        if (absl::Status begun = writer.Begin(consumer); !begun.ok()) return begun;
        for (const auto& [key, value] : pairs) {
          if (absl::Status written = writer.Add(key, value); !written.ok()) return written;
        }
      }
      return writer.Finish();
    });
    RC_ASSERT(added.ok());
  }
  for (int consumer = 0; consumer < num_consumers; ++consumer) {
    RunSources sources;
    RC_ASSERT(spills.OpenSection(consumer, sources).ok());
    RC_ASSERT(sources.size() < 3 * SlotSpills::kTogether);
    std::vector<std::pair<std::string, std::string>> found;
    MergedSections merged(sources, [] { return false; });
    while (merged.NextGroup()) {
      for (std::string_view value; merged.NextValue(value);) {
        found.emplace_back(merged.key(), value);
      }
    }
    const auto& pairs = expected[consumer];
    RC_ASSERT(found ==
              (std::vector<std::pair<std::string, std::string>>(pairs.begin(), pairs.end())));
  }
}

}  // namespace
}  // namespace weir
