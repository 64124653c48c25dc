// Sections that slots share: who reads which blocks, and who waits for whom.

#include "jobs/engine/sections/shared_section.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "jobs/engine/sections/section_blocks.h"
#include "jobs/engine/slots/slot_sections.h"
#include "jobs/testing/memory_steps.h"

namespace weir {
namespace {

using testing::MemoryRun;
using testing::MemorySource;
using testing::RecordingContext;
using testing::ThreadPerCall;
using Blocks = std::vector<std::string>;

std::string BlockOf(BlockKind kind, int number) {
  return std::string(1, static_cast<char>(kind)) + std::to_string(number);
}

// What each reader got, all reading at once, some of them slowly.
std::vector<Blocks> ReadAll(SharedSection& section, int num_readers, std::uint64_t seed) {
  std::vector<Blocks> got(static_cast<std::size_t>(num_readers));
  ThreadPerCall(num_readers).RunOnAll([&](int index) {
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(index));
    SharedSection::Reader reader(section, index);
    std::string block;
    while (reader.TakeBlock(block).value()) {
      got[static_cast<std::size_t>(index)].push_back(block);
      if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
    }
    EXPECT_TRUE(block.empty());
  });
  return got;
}

RC_GTEST_PROP(SharedSectionProperty, ReadersGetBlocksInTurnsWhateverTheirSpeed, ()) {
  const int num_readers = *rc::gen::inRange(1, 6);
  const auto parts = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 4));
  Blocks blocks;
  std::vector<Blocks> expected(static_cast<std::size_t>(num_readers));
  std::size_t turn = 0;
  // A unit is a block of whole records, or the parts of a long one.
  for (const int more_parts : parts) {
    Blocks& whose = expected[turn++ % expected.size()];
    for (int part = 0; part <= more_parts; ++part) {
      const BlockKind kind = more_parts == 0      ? BlockKind::kWholeRecords
                             : part == more_parts ? BlockKind::kRecordLastPart
                                                  : BlockKind::kRecordPart;
      blocks.push_back(BlockOf(kind, static_cast<int>(blocks.size())));
      whose.push_back(blocks.back());
    }
  }
  MemorySource source(blocks);
  SharedSection section(source, num_readers);
  RC_ASSERT(ReadAll(section, num_readers, *rc::gen::arbitrary<std::uint64_t>()) == expected);
}

TEST(SharedSection, NobodyWaitsForAReaderThatHasGone) {
  Blocks blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(BlockOf(BlockKind::kWholeRecords, i));
  MemorySource source(blocks);
  SharedSection section(source, 2);
  int got = 0;
  ThreadPerCall(2).RunOnAll([&](int index) {
    SharedSection::Reader reader(section, index);
    std::string block;
    if (index == 1) {
      EXPECT_TRUE(*reader.TakeBlock(block));
      return;
    }
    while (*reader.TakeBlock(block)) ++got;
  });
  EXPECT_EQ(got, 50);
}

TEST(SharedSection, IsReadNoFurtherThanTwoBlocksAheadOfAReader) {
  class Counted : public RunSource {
   public:
    absl::StatusOr<absl::Span<const char>> NextBlock() override {
      if (given == 20) return absl::Span<const char>();
      ++given;
      return absl::Span<const char>(block_);
    }
    std::atomic<int> given = 0;

   private:
    const std::string block_ = BlockOf(BlockKind::kWholeRecords, 0);
  };
  Counted source;
  SharedSection section(source, 2);
  std::atomic<int> got = 0;
  ThreadPerCall(2).RunOnAll([&](int index) {
    SharedSection::Reader reader(section, index);
    std::string block;
    if (index == 1) {
      // However long this one does nothing.
      while (got < 3) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_EQ(got, 3) << "two blocks wait here, and a third one is next";
      EXPECT_EQ(source.given, 5);
    }
    while (*reader.TakeBlock(block)) ++got;
  });
  EXPECT_EQ(got, 20);
}

// Ends with an error, or throws, after some blocks.
class BrokenSource : public RunSource {
 public:
  explicit BrokenSource(bool throws) : throws_(throws) {}
  absl::StatusOr<absl::Span<const char>> NextBlock() override {
    if (++given_ <= 7) return absl::Span<const char>(block_);
    if (throws_) throw std::runtime_error("no memory");
    return absl::DataLossError("checksum");
  }

 private:
  const bool throws_;
  const std::string block_ = BlockOf(BlockKind::kWholeRecords, 0);
  int given_ = 0;
};

TEST(SharedSection, EachReaderMeetsAnErrorBehindItsLastBlock) {
  BrokenSource source(false);
  SharedSection section(source, 3);
  std::vector<int> got(3);
  ThreadPerCall(3).RunOnAll([&](int index) {
    SharedSection::Reader reader(section, index);
    absl::StatusOr<absl::Span<const char>> block;
    while ((block = reader.NextBlock()).ok()) ++got[static_cast<std::size_t>(index)];
    EXPECT_EQ(block.status(), absl::DataLossError("checksum"));
    EXPECT_FALSE(reader.NextBlock().ok()) << "once more";
  });
  EXPECT_EQ(got, (std::vector<int>{3, 2, 2}));
}

TEST(SharedSection, WhatASourceThrowsEndsAllReaders) {
  BrokenSource source(true);
  SharedSection section(source, 3);
  std::atomic<int> ended = 0;
  EXPECT_THROW(ThreadPerCall(3).RunOnAll([&](int index) {
    SharedSection::Reader reader(section, index);
    while (reader.NextBlock().ok()) {
    }
    ++ended;
  }),
               std::runtime_error);
  EXPECT_EQ(ended, 2) << "those that did not throw";
}

// Sections of so many blocks that are filled.
SlotSections::Sources SectionsOfBlocks(const std::vector<int>& counts) {
  SlotSections::Sources sources;
  int number = 0;
  for (const int count : counts) {
    Blocks blocks;
    for (int i = 0; i < count; ++i) {
      blocks.push_back(BlockOf(BlockKind::kWholeRecords, number++));
      blocks.back().resize(kBlockFillBytes, ' ');
    }
    sources.push_back(std::make_unique<MemorySource>(std::move(blocks)));
  }
  return sources;
}

// How many blocks each slot reads, and how small its part of the memory is.
std::vector<int> BlocksOfSlots(const std::vector<int>& counts, int num_slots,
                               std::vector<int>& holders) {
  const SlotSections::Sources sources = SectionsOfBlocks(counts);
  SlotSections sections(sources, num_slots);
  holders.clear();
  for (int slot = 0; slot < num_slots; ++slot) holders.push_back(sections.num_holders(slot));
  std::vector<int> read(static_cast<std::size_t>(num_slots));
  ThreadPerCall(num_slots).RunOnAll([&](int slot) {
    const absl::Status status = sections.Visit(slot, [&](RunSource& source) {
      while (!source.NextBlock()->empty()) ++read[static_cast<std::size_t>(slot)];
      return absl::OkStatus();
    });
    EXPECT_EQ(status, absl::OkStatus());
  });
  return read;
}

TEST(SlotSections, FewerSectionsThanSlotsAreShared) {
  std::vector<int> holders;
  EXPECT_EQ(BlocksOfSlots({8}, 4, holders), (std::vector<int>{2, 2, 2, 2}));
  EXPECT_EQ(holders, (std::vector<int>{4, 4, 4, 4}));
  EXPECT_EQ(BlocksOfSlots({9, 4}, 5, holders), (std::vector<int>{5, 4, 2, 1, 1}));
  EXPECT_EQ(holders, (std::vector<int>{4, 4, 6, 6, 6})) << "each section has half of the memory";
  EXPECT_EQ(BlocksOfSlots({3, 3, 8}, 4, holders), (std::vector<int>{3, 3, 4, 4}));
  EXPECT_EQ(holders, (std::vector<int>{3, 3, 6, 6}));
}

TEST(SlotSections, SmallOnesAreNotWorthMoreSlotsThanTheyHaveBlocks) {
  std::vector<int> holders;
  EXPECT_EQ(BlocksOfSlots({2, 9}, 8, holders), (std::vector<int>{1, 1, 0, 0, 3, 2, 2, 2}));
  EXPECT_EQ(holders, (std::vector<int>{4, 4, 2, 2, 8, 8, 8, 8}));
  EXPECT_EQ(BlocksOfSlots({1}, 3, holders), (std::vector<int>{1, 0, 0}));
  EXPECT_EQ(holders[0], 1);
  EXPECT_EQ(BlocksOfSlots({0}, 3, holders), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(BlocksOfSlots({}, 3, holders), (std::vector<int>{0, 0, 0}));
}

TEST(SlotSections, MoreSectionsThanSlotsAreReadAlone) {
  std::vector<int> holders;
  EXPECT_EQ(BlocksOfSlots({1, 2, 4, 8, 16}, 2, holders), (std::vector<int>{3, 28}));
  EXPECT_EQ(holders, (std::vector<int>{2, 2}));
}

}  // namespace
}  // namespace weir
