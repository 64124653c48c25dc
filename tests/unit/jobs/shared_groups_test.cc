// Groups of sorted sections that slots share: who reduces which, and who waits for whom.

#include "jobs/engine/merge/shared_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "jobs/engine/group_values.h"
#include "jobs/engine/make_program.h"
#include "jobs/engine/merge/merge_on_slots.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/testing/in_process_job.h"
#include "tests/unit/jobs/count_lines.h"
#include "tests/unit/jobs/sort_lines.h"
#include "tests/unit/jobs/sorted_runs.h"

namespace weir {
namespace {

using testing::AtOnce;
using testing::CountLines;
using testing::EvenCut;
using testing::Groups;
using testing::LinesOfCount;
using testing::ManyPairs;
using testing::MemoryRun;
using testing::RecordingContext;
using testing::RunsOf;
using testing::ScratchFile;

std::vector<MemoryRun> LargeRuns(int num_producers) {
  std::vector<std::vector<testing::Pair>> pairs;
  for (int i = 0; i < num_producers; ++i) {
    pairs.push_back(ManyPairs(static_cast<std::uint64_t>(i + 1), 40'000, 30'000, 60));
  }
  return RunsOf(std::move(pairs));
}

// The groups that each slot got, some slots being slow.
std::vector<Groups> OfSlots(const std::vector<MemoryRun>& runs, int num_slots, std::uint64_t seed,
                            std::int64_t memory_bytes) {
  const GroupPieces::Sources sources = SectionsOf(runs, 0);
  RecordingContext context(num_slots, memory_bytes);
  SharedGroups groups(sources, nullptr, context);
  std::vector<Groups> got(static_cast<std::size_t>(num_slots));
  const absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(slot));
    return groups.Visit(slot, stop, [&](const GroupPieces::Sources& piece) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 2'000));
      return testing::ReadGroups(piece, got[static_cast<std::size_t>(slot)]);
    });
  });
  EXPECT_EQ(status, absl::OkStatus());
  return got;
}

TEST(SharedGroups, EachIsWholeOnOneSlotWhateverTheSpeed) {
  const std::vector<MemoryRun> runs = LargeRuns(3);
  const Groups all = AtOnce(runs);
  // Without a limit, with room for few pieces, and with too little to cut anything.
  for (const std::int64_t memory : {std::int64_t{0}, std::int64_t{24} << 20, std::int64_t{1}}) {
    for (const int num_slots : {1, 2, 5}) {
      SCOPED_TRACE(absl::StrCat(memory, " bytes, ", num_slots, " slots"));
      const std::vector<Groups> got = OfSlots(runs, num_slots, 1, memory);
      EXPECT_EQ(OfSlots(runs, num_slots, 2, memory), got);
      Groups together;
      std::size_t least = all.size();
      for (const Groups& of_slot : got) {
        together.insert(together.end(), of_slot.begin(), of_slot.end());
        least = std::min(least, of_slot.size());
      }
      std::sort(together.begin(), together.end());
      EXPECT_EQ(together, all);
      const auto fair = all.size() / static_cast<std::size_t>(num_slots);
      EXPECT_GE(least, memory == 1 ? 0 : fair / 4);
    }
  }
}

TEST(SharedGroups, WhatASlotDoesNotTakeStopsNobody) {
  const std::vector<MemoryRun> runs = LargeRuns(2);
  const GroupPieces::Sources sources = SectionsOf(runs, 0);
  RecordingContext context(3, 24 << 20);
  SharedGroups groups(sources, nullptr, context);
  std::atomic<int> pieces = 0;
  const absl::Status status = RunOnSlots(context, [&](int slot, const std::function<bool()>& stop) {
    return groups.Visit(slot, stop, [&](const GroupPieces::Sources&) {
      ++pieces;
      return slot == 2 ? absl::DataLossError("of slot 2") : absl::OkStatus();
    });
  });
  EXPECT_EQ(status, absl::DataLossError("of slot 2"));
  EXPECT_GT(pieces, 3);
}

// Lines "key rest": a pair for each line, of the key and how many lines it had before.
struct NumberLines : testing::SortLines {
  template <typename Emit>
  void Reduce(std::string_view key, GroupValues<Value>& values, Emit&& emit) const {
    if (key == throws_at) throw std::runtime_error("not that one");
    Value value;
    for (int i = 0; values.Next(value); ++i)
      emit(std::string(key) + "-" + std::to_string(i), value);
  }
  std::string throws_at;
};

// Counts what it gets, and on how many slots.
struct CountOnSlots : CountLines {
  template <typename Emit>
  void Map(std::string_view key, const std::string&, Emit& emit) {
    // A copy of the job is a slot's.
    if (count++ == 0) ++slots_seen;
    emit(key, 1);
  }
  int count = 0;
  inline static std::atomic<int> slots_seen = 0;
};

std::string ManyLines() {
  std::string text;
  for (int i = 0; i < 60'000; ++i) {
    absl::StrAppend(&text, "key", i * 7919 % 40'000, " ", std::string(40, 'v'), i, "\n");
  }
  return text;
}

TEST(SharedGroups, AllSlotsMapWhatAnInnerLayerReduces) {
  const auto program = MakeChainProgram(NumberLines(), CountOnSlots());
  const ScratchFile file(ManyLines());
  std::vector<std::vector<std::string>> parts;
  for (const int num_slots : {1, 3}) {
    CountOnSlots::slots_seen = 0;
    testing::JobCut cut = EvenCut({file.path()}, 2, 1, num_slots);
    cut.inner_key_ends = {{1.0}};
    const auto done = testing::RunJob(*program, cut);
    ASSERT_TRUE(done.ok()) << done.status();
    parts.push_back(*done);
    EXPECT_EQ(CountOnSlots::slots_seen, num_slots);
  }
  EXPECT_GT(parts[0].at(0).size(), 500'000u);
  EXPECT_EQ(parts[0], parts[1]);
}

TEST(SharedGroups, LeaveMostOfALittleMemoryToTheLayerBehind) {
  const auto program = MakeChainProgram(NumberLines(), CountOnSlots());
  const ScratchFile file(ManyLines());
  testing::JobCut cut = EvenCut({file.path()}, 2, 1, 3);
  cut.inner_key_ends = {{1.0}};
  testing::JobLog log;
  log.spill_above = 64 << 20;
  ASSERT_TRUE(testing::RunJob(*program, cut, log).ok());
  EXPECT_EQ(log.num_spills, 0);
}

TEST(SharedGroups, NobodyWaitsForASlotWhoseReduceThrew) {
  const ScratchFile file(ManyLines());
  for (const char* const key : {"key1", "key25000", "key9999"}) {
    const auto program = MakeChainProgram(NumberLines{{}, key}, CountOnSlots());
    testing::JobCut cut = EvenCut({file.path()}, 2, 1, 4);
    cut.inner_key_ends = {{1.0}};
    EXPECT_THROW(static_cast<void>(testing::RunJob(*program, cut)), std::runtime_error);
  }
}

TEST(MergeSectionsOnSlots, FewConsumersAreMergedInPieces) {
  const std::vector<MemoryRun> runs = LargeRuns(3);
  const Groups all = AtOnce(runs);
  for (const int num_consumers : {1, 2, 3, 7}) {
    RecordingContext context(4, 64 << 20);
    std::atomic<int> merges = 0;
    const SectionsOnDisk sections{
        num_consumers, runs.size(),
        [&](int) -> absl::StatusOr<GroupPieces::Sources> { return SectionsOf(runs, 0); },
        [&](int consumer, const GroupPieces::Sources& sources,
            RunSink& sink) -> absl::StatusOr<std::int64_t> {
          ++merges;
          Groups groups;
          if (absl::Status read = testing::ReadGroups(sources, groups); !read.ok()) return read;
          SectionWriter writer(sink);
          absl::Status status = writer.Begin(consumer);
          for (const auto& [key, values] : groups) {
            for (const std::string& value : values) {
              if (status.ok()) status = writer.Add(key, value);
            }
          }
          if (status.ok()) status = writer.Finish();
          if (!status.ok()) return status;
          return writer.records();
        }};
    MemoryRun merged;
    const absl::StatusOr<std::int64_t> records = MergeSectionsOnSlots(sections, merged, context);
    ASSERT_TRUE(records.ok()) << records.status();
    EXPECT_EQ(*records, num_consumers * 120'000);
    for (int consumer = 0; consumer < num_consumers; ++consumer) {
      Groups groups;
      std::vector<MemoryRun> one;
      one.push_back(merged);
      EXPECT_EQ(testing::ReadGroups(SectionsOf(one, consumer), groups), absl::OkStatus());
      EXPECT_EQ(groups, all);
    }
    if (num_consumers <= 2) {
      EXPECT_GT(merges, 4 * num_consumers);
    } else {
      EXPECT_EQ(merges, num_consumers);
    }
  }
}

}  // namespace
}  // namespace weir
