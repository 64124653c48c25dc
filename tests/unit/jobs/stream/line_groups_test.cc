#include "jobs/stream/line_groups.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "jobs/engine/slots/slot_work.h"
#include "jobs/testing/memory_steps.h"
#include "tests/unit/jobs/pack_text.h"

namespace weir::stream {
namespace {

using weir::testing::RecordingContext;
using weir::testing::ScratchFile;

// The groups of one range, a string each.
std::vector<std::string> GroupsOf(const InputRange& range, std::int64_t group_lines) {
  std::vector<std::string> groups;
  bool open = false;
  RecordingContext context(1);
  const absl::Status status = ForEachLineGroup(
      range, group_lines, context, [] { return false; },
      [&](const TextBlock&, std::string_view lines, bool ends) {
        if (!open) groups.emplace_back();
        groups.back().append(lines);
        open = !ends;
        return absl::OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(context.progress_bytes, range.end - range.begin);
  return groups;
}

// Those of a text that nobody cuts.
std::vector<std::string> GroupsOf(std::string_view text, std::int64_t group_lines) {
  std::vector<std::string> groups;
  for (std::int64_t line = 0; !text.empty(); ++line) {
    if (line % group_lines == 0) groups.emplace_back();
    const std::size_t end = text.find('\n') + 1;
    groups.back().append(text.substr(0, end));
    text.remove_prefix(end);
  }
  return groups;
}

std::vector<std::string> GroupsOfAll(const std::vector<std::vector<InputRange>>& pieces,
                                     std::int64_t group_lines) {
  std::vector<std::string> all;
  for (const auto& ranges : pieces) {
    for (const InputRange& range : ranges) {
      for (std::string& group : GroupsOf(range, group_lines)) all.push_back(std::move(group));
    }
  }
  return all;
}

TEST(LineGroups, AreCountedFromTheBeginningOfTheFile) {
  const ScratchFile file("1\n2\n3\n4\n5\n");
  InputRange range = file.range();
  range.begin = 2;  // 2
  EXPECT_EQ(GroupsOf(range, 2), (std::vector<std::string>{"3\n4\n", "5\n"}));
  range.end = 6;  // 4
  EXPECT_EQ(GroupsOf(range, 2), std::vector<std::string>{"3\n4\n"});
  range.end = 4;  // 3
  EXPECT_EQ(GroupsOf(range, 2), std::vector<std::string>{});
  EXPECT_EQ(GroupsOf(range, 1), std::vector<std::string>{"2\n"});
}

// A block of the reader is 256 KiB.
TEST(LineGroups, GoOnFromBlockToBlock) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += std::to_string(i) + "\n";
  const ScratchFile file(text);
  const std::vector<InputRange> ranges = {file.range()};
  for (const std::int64_t lines : {7, 100'000, 1'000'000}) {
    EXPECT_EQ(GroupsOfAll(SplitRanges(ranges, 3), lines), GroupsOf(text, lines));
  }
}

// Else a step that reads a large file up to its part is taken for one that hangs.
TEST(LineGroups, WhatIsReadBeforeARangeIsProgress) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += std::to_string(i) + "\n";
  const ScratchFile file(text);
  InputRange range = file.range();
  range.begin = range.end - 1000;
  RecordingContext context(1);
  std::int64_t seen = 0;
  bool taken = false;
  const auto look = [&] {
    if (!taken && seen == 0) seen = context.progress_bytes;
    return false;
  };
  const absl::Status status =
      ForEachLineGroup(range, 2, context, look, [&](const TextBlock&, std::string_view, bool) {
        taken = true;
        return absl::OkStatus();
      });
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(taken);
  EXPECT_GT(seen, 0);
  EXPECT_LT(seen, 1000);
  EXPECT_EQ(context.progress_bytes, 1000);
}

RC_GTEST_PROP(LineGroups, AreTheSameWhereverTheFileIsCut, ()) {
  std::string text;
  for (const int bytes : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 5))) {
    text.append(static_cast<std::size_t>(bytes), static_cast<char>('a' + bytes));
    text.push_back('\n');
  }
  const ScratchFile file(text);
  const std::vector<InputRange> ranges = {file.range()};
  const std::int64_t lines = *rc::gen::inRange(1, 5);
  RC_ASSERT(GroupsOfAll(SplitRanges(ranges, *rc::gen::inRange(1, 8)), lines) ==
            GroupsOf(text, lines));
}

TEST(LineGroups, APackedFileIsCutBetweenItsMembers) {
  const std::vector<std::string> members = {"1\n2\n3", "3\n4\n", "5\n", "6\n7\n8\n"};
  std::string text;
  std::string packed;
  std::vector<PackedBorder> borders = {{0, 0}};
  for (const std::string& member : members) {
    text += member;
    packed += PackBgzf(member);
    borders.push_back(
        {static_cast<std::int64_t>(packed.size()), static_cast<std::int64_t>(text.size())});
  }
  const ScratchFile file(packed, ".gz");
  InputRange range = file.range();
  EXPECT_EQ(GroupsOf(range, 3), GroupsOf(text, 3)) << "not cut";
  range.begin = 1;
  EXPECT_EQ(GroupsOf(range, 3), std::vector<std::string>{}) << "who has byte 0 has it all";
  range = file.range();
  range.borders = borders;
  range.text_bytes = static_cast<std::int64_t>(text.size());
  const std::vector<InputRange> ranges = {range};
  for (const std::int64_t lines : {1, 2, 3, 5}) {
    for (const int pieces : {1, 2, 4}) {
      EXPECT_EQ(GroupsOfAll(SplitRanges(ranges, pieces), lines), GroupsOf(text, lines));
    }
  }
}

}  // namespace
}  // namespace weir::stream
