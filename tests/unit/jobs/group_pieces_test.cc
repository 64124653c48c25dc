#include "jobs/engine/merge/group_pieces.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "jobs/engine/merge/merge_on_slots.h"
#include "jobs/engine/sections/merged_sections.h"
#include "jobs/engine/sections/section_blocks.h"
#include "jobs/testing/memory_steps.h"
#include "tests/unit/jobs/sorted_runs.h"

namespace weir {
namespace {

using testing::MemoryRun;
using testing::MemorySource;
using testing::RecordingContext;

using testing::AtOnce;
using testing::Groups;
using testing::ManyPairs;
using testing::Pair;
using testing::ReadGroups;
using testing::RunsOf;

// The groups of all pieces, and how many those are.
std::pair<Groups, int> InPieces(const std::vector<MemoryRun>& runs, std::int64_t held_bytes) {
  const GroupPieces::Sources sources = SectionsOf(runs, 0);
  RecordingContext context(1);
  GroupPieces pieces(sources, held_bytes, 64 << 20, nullptr, context);
  GroupPieces::Sources piece;
  Groups groups;
  int num_pieces = 0;
  for (; pieces.Next(piece); ++num_pieces) EXPECT_TRUE(ReadGroups(piece, groups).ok());
  return {groups, num_pieces};
}

TEST(GroupPieces, CutsLargeSectionsAndKeepsGroupsWhole) {
  const auto runs = RunsOf({ManyPairs(1, 30'000, 5'000, 50),
                            ManyPairs(2, 20'000, 5'000, 60),
                            {},
                            ManyPairs(3, 10, 5'000, 50)});
  const auto [groups, num_pieces] = InPieces(runs, 1 << 18);
  EXPECT_EQ(groups, AtOnce(runs));
  EXPECT_GT(num_pieces, 3);
}

struct Cut {
  Groups groups;
  int num_pieces = 0;
  std::int64_t all = 0;
  std::int64_t most = 0;  // of a piece
};

Cut CutAll(const std::vector<MemoryRun>& runs) {
  const GroupPieces::Sources sources = SectionsOf(runs, 0);
  RecordingContext context(1);
  GroupPieces pieces(sources, 1 << 20, 128 << 20, nullptr, context);
  GroupPieces::Sources piece;
  Cut cut;
  for (; pieces.Next(piece); ++cut.num_pieces) {
    cut.all += pieces.piece_bytes();
    cut.most = std::max(cut.most, pieces.piece_bytes());
    EXPECT_TRUE(ReadGroups(piece, cut.groups).ok());
  }
  return cut;
}

// As many producers make them: all of them end before there is a second block of any.
TEST(GroupPieces, ManySmallSectionsAreCut) {
  struct Sections {
    std::uint64_t producers;
    std::size_t pairs;
    std::int64_t piece_min;
  };
  // Of 70 and 30 KB; of more producers than keys are marked; of 300 KB, which two blocks hold
  // before anybody knows that there is no third one.
  for (const Sections& of : {Sections{40, 1'000, 256 << 10},
                             {100, 430, 256 << 10},
                             {600, 500, 1'200 << 10},
                             {30, 4'300, 2 << 20}}) {
    SCOPED_TRACE(of.producers);
    std::vector<std::vector<Pair>> overlapping;
    std::vector<std::vector<Pair>> ranges;
    for (std::uint64_t i = 0; i < of.producers; ++i) {
      overlapping.push_back(ManyPairs(i + 1, of.pairs, 5'000, 60));
      ranges.push_back(ManyPairs(i + 1, of.pairs, 5'000, 60));
      for (Pair& pair : ranges.back()) pair.first = std::to_string(1'000 + i) + pair.first;
    }
    for (const auto& producers : {overlapping, ranges}) {
      const auto runs = RunsOf(producers);
      const Cut cut = CutAll(runs);
      EXPECT_EQ(cut.groups, AtOnce(runs));
      EXPECT_LT(cut.num_pieces, 100);
      // A sixteenth each, or what a piece has at least, as marks tell.
      EXPECT_LT(cut.most, 2 * std::max(cut.all / 16, of.piece_min))
          << cut.num_pieces << " of " << cut.all;
    }
  }
}

// Two blocks of each are a piece of many megabytes.
TEST(GroupPieces, WhatIsHeldOfManySectionsIsCut) {
  std::vector<std::vector<Pair>> producers;
  for (std::uint64_t i = 0; i < 24; ++i) producers.push_back(ManyPairs(i + 1, 15'000, 50'000, 60));
  const auto runs = RunsOf(producers);
  const Cut cut = CutAll(runs);
  EXPECT_EQ(cut.groups, AtOnce(runs));
  EXPECT_LT(cut.most, 4 << 20);
}

// One after the other: each is the least for a while, and only that is marked and cut.
TEST(GroupPieces, SectionsOfKeysThatFollowOneAnother) {
  std::vector<std::vector<Pair>> producers;
  for (std::uint64_t i = 0; i < 12; ++i) {
    producers.push_back(ManyPairs(i + 1, 20'000, 50'000, 60));
    for (Pair& pair : producers.back()) pair.first = std::to_string(100 + i) + pair.first;
  }
  const auto runs = RunsOf(producers);
  const Cut cut = CutAll(runs);
  EXPECT_EQ(cut.groups, AtOnce(runs));
  EXPECT_LT(cut.most, 4 << 20);
}

TEST(GroupPieces, NothingAndNoProducers) {
  EXPECT_TRUE(InPieces(RunsOf({{}, {}}), 1 << 20).first.empty());
  EXPECT_TRUE(InPieces({}, 1 << 20).first.empty());
}

// A group that is larger than what may be held is read by one slot, with what follows.
TEST(GroupPieces, AHugeGroupIsNotCut) {
  std::vector<Pair> pairs = ManyPairs(1, 10'000, 1'000, 50);
  for (Pair pair : ManyPairs(2, 20'000, 1, 100)) pairs.push_back({"5", pair.second});
  const auto runs = RunsOf({pairs, ManyPairs(3, 20'000, 1'000, 50)});
  const auto [groups, num_pieces] = InPieces(runs, 1 << 18);
  EXPECT_EQ(groups, AtOnce(runs));
  EXPECT_GT(num_pieces, 1);
  EXPECT_EQ(InPieces(RunsOf({ManyPairs(4, 50'000, 1, 50)}), 1 << 18).second, 1);
}

TEST(GroupPieces, RecordsLongerThanBlocks) {
  std::vector<Pair> pairs;
  for (int i = 0; i < 12; ++i) pairs.push_back({std::to_string(i), std::string(700 << 10, 'v')});
  std::vector<Pair> more = ManyPairs(1, 20'000, 1'000, 50);
  pairs.insert(pairs.end(), more.begin(), more.end());
  const auto runs = RunsOf({pairs, ManyPairs(2, 20'000, 1'000, 50)});
  const auto [groups, num_pieces] = InPieces(runs, 1 << 20);
  EXPECT_EQ(groups, AtOnce(runs));
  EXPECT_GT(num_pieces, 1);
}

// As far as the section is whole its groups are read, then its reader meets the damage.
TEST(GroupPieces, DamageIsMetByWhoReadsThePiece) {
  const auto runs = RunsOf({ManyPairs(1, 30'000, 5'000, 50)});
  std::vector<std::string> blocks = runs[0].sections().at(0);
  ASSERT_GT(blocks.size(), 5U);
  blocks[4].resize(blocks[4].size() - 3);
  for (const int slots : {1, 2, 3, 7}) {
    GroupPieces::Sources sources;
    sources.push_back(std::make_unique<MemorySource>(blocks));
    RecordingContext context(slots);
    std::size_t handed_on = 0;
    const absl::Status status =
        MergeOnSlots(sources, context, [&](const GroupPieces::Sources& piece, PieceTurn& turn) {
          Groups groups;
          absl::Status read = ReadGroups(piece, groups);
          if (turn.Await()) handed_on += groups.size();
          return read;
        });
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_GT(handed_on, 100U);
  }
}

class FailsInTheMiddle : public RunSource {
 public:
  explicit FailsInTheMiddle(std::vector<std::string> blocks) : blocks_(std::move(blocks)) {}
  absl::StatusOr<absl::Span<const char>> NextBlock() override {
    if (next_ == blocks_.size() / 2) return absl::DataLossError("checksum");
    return absl::Span<const char>(blocks_[next_++]);
  }

 private:
  std::vector<std::string> blocks_;
  std::size_t next_ = 0;
};

TEST(GroupPieces, AnErrorOfASourceIsTheStepsError) {
  const auto runs = RunsOf({ManyPairs(1, 200'000, 50'000, 50)});
  for (const int slots : {1, 2, 3, 7}) {
    GroupPieces::Sources sources;
    sources.push_back(std::make_unique<FailsInTheMiddle>(runs[0].sections().at(0)));
    RecordingContext context(slots);
    const absl::Status status =
        MergeOnSlots(sources, context, [&](const GroupPieces::Sources& piece, PieceTurn&) {
          Groups groups;
          return ReadGroups(piece, groups);
        });
    EXPECT_EQ(status, absl::DataLossError("checksum"));
  }
}

TEST(MergeOnSlots, EndsWhenTheJobDoes) {
  const auto runs = RunsOf({ManyPairs(1, 200'000, 50'000, 50)});
  for (const int slots : {2, 7}) {
    const GroupPieces::Sources sources = SectionsOf(runs, 0);
    RecordingContext context(slots);
    const absl::Status status =
        MergeOnSlots(sources, context, [&](const GroupPieces::Sources&, PieceTurn&) {
          context.cancel = true;
          return absl::OkStatus();
        });
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  }
}

RC_GTEST_PROP(GroupPiecesProperty, PiecesAreTheWhole, ()) {
  std::vector<std::vector<Pair>> producers;
  const int count = *rc::gen::inRange(1, 20);
  for (int i = 0; i < count; ++i) {
    producers.push_back(ManyPairs(
        *rc::gen::arbitrary<std::uint64_t>(), *rc::gen::inRange<std::size_t>(0, 2'000),
        *rc::gen::inRange<std::uint64_t>(1, 2'000), *rc::gen::element<std::size_t>(0, 100, 2'000)));
  }
  const auto runs = RunsOf(std::move(producers));
  RC_ASSERT(InPieces(runs, *rc::gen::inRange(1, 1 << 20)).first == AtOnce(runs));
}

}  // namespace
}  // namespace weir
