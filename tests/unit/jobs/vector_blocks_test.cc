#include "jobs/engine/vector/vector_blocks.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "jobs/engine/loop/loop_sections.h"
#include "jobs/engine/vector/vector_block.h"
#include "jobs/testing/in_process_job.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using testing::MemoryRun;
using testing::MemorySource;

using Values = std::vector<std::int64_t>;
constexpr VectorForm kSmall{8, sizeof(std::int64_t)};

VectorSlice SliceOf(const Values& values, std::int64_t begin) {
  return {begin, begin + static_cast<std::int64_t>(values.size()),
          reinterpret_cast<const char*>(values.data())};
}

std::string BlockOf(std::int64_t first, std::int64_t count, std::int64_t places,
                    const Values& values, std::uint32_t content = 0) {
  std::string block;
  BeginVectorBlock({first, count, places, content, 0}, block);
  block.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int64_t));
  return block;
}

absl::Status ReadBlocks(std::vector<std::string> blocks) {
  MemorySource source(std::move(blocks));
  VectorReader reader(source, kSmall);
  while (true) {
    const absl::StatusOr<bool> more = reader.Next();
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
  }
}

RC_GTEST_PROP(VectorBlocks, WhatIsWrittenInPiecesIsReadInItsSections, ()) {
  const auto places = *rc::gen::inRange<std::int64_t>(1, 70'000);
  const VectorForm form{places, sizeof(std::int64_t)};
  std::vector<double> ends;
  for (const auto end : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1001))) {
    ends.push_back(end / 1000.0);
  }
  std::sort(ends.begin(), ends.end());
  ends.push_back(1);
  Values values(static_cast<std::size_t>(places));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i) * 3;
  std::vector<bool> touched(values.size());
  MemoryRun run;
  VectorWriter writer(run, form, ends);
  for (std::int64_t at = 0; at < places;) {
    const auto count = *rc::gen::inRange<std::int64_t>(1, places - at + 1);
    const bool with_values = *rc::gen::arbitrary<bool>();
    const char* from = reinterpret_cast<const char*>(values.data() + at);
    RC_ASSERT(writer.Add({at, at + count, with_values ? from : nullptr}).ok());
    for (std::int64_t i = at; i < at + count; ++i)
      touched[static_cast<std::size_t>(i)] = with_values;
    at += count;
  }
  RC_ASSERT(writer.Finish().ok());
  RC_ASSERT(writer.places_written() == places);
  std::int64_t next = 0;
  for (std::size_t consumer = 0; consumer < ends.size(); ++consumer) {
    const auto section = run.sections().find(static_cast<int>(consumer));
    if (section == run.sections().end()) {
      RC_ASSERT(writer.consumer_end()[consumer] == next);
      continue;
    }
    MemorySource source(section->second);
    VectorReader reader(source, form);
    while (*reader.Next()) {
      RC_ASSERT(reader.slice().begin == next);
      const auto skip = *rc::gen::inRange<std::int64_t>(0, reader.slice().size());
      reader.Drop(skip);
      for (std::int64_t i = next; i < reader.slice().end; ++i) {
        RC_ASSERT(touched[static_cast<std::size_t>(i)] == (reader.slice().values != nullptr));
      }
      if (reader.slice().values != nullptr) {
        RC_ASSERT(std::memcmp(reader.slice().values, values.data() + next + skip,
                              static_cast<std::size_t>(reader.slice().size()) * 8) == 0);
      }
      next = reader.slice().end;
    }
    RC_ASSERT(next == writer.consumer_end()[consumer]);
  }
  RC_ASSERT(next == places);
}

TEST(VectorBlocks, SlicesThatFollowOneAnotherShareABlock) {
  MemoryRun run;
  VectorWriter writer(run, kSmall, {1.0});
  const Values some = {1, 2, 3};
  ASSERT_TRUE(writer.Add(SliceOf(some, 0)).ok());
  ASSERT_TRUE(writer.Add(SliceOf(some, 3)).ok());
  ASSERT_TRUE(writer.Finish().ok());
  ASSERT_EQ(run.sections().at(0).size(), 1u);
  EXPECT_EQ(run.sections().at(0)[0], BlockOf(0, 6, 8, {1, 2, 3, 1, 2, 3}));
}

TEST(VectorBlocks, UntouchedPlacesNeedNoBytes) {
  const VectorForm form{std::int64_t{1} << 32, 8};
  MemoryRun run;
  VectorWriter writer(run, form, {1.0});
  ASSERT_TRUE(writer.Add({0, form.places, nullptr}).ok());
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(run.sections().at(0).size(), 4u) << "2^30 places a block";
  EXPECT_EQ(run.records(), form.places);
}

TEST(VectorBlocks, WhatIsNoBlockOfTheVectorIsDataLoss) {
  EXPECT_TRUE(ReadBlocks({BlockOf(0, 2, 8, {1, 2}), BlockOf(5, 3, 8, {1, 2, 3})}).ok());
  EXPECT_TRUE(ReadBlocks({BlockOf(0, 8, 8, {})}).ok());
  const std::vector<std::vector<std::string>> damaged = {
      {"short"},
      {BlockOf(0, 3, 8, {1, 2})},
      {BlockOf(0, 1, 8, {1, 2})},
      {BlockOf(7, 2, 8, {1, 2})},
      {BlockOf(-1, 2, 8, {1, 2})},
      {BlockOf(0, 0, 8, {})},
      {BlockOf(0, 2, 8, {1, 2}), BlockOf(1, 2, 8, {1, 2})},
      {BlockOf(0, std::int64_t{1} << 61, 8, {})},
      {BlockOf(std::int64_t{1} << 62, std::int64_t{1} << 62, 8, {1})},
  };
  for (const std::vector<std::string>& blocks : damaged) {
    const absl::Status status = ReadBlocks(blocks);
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
  }
  const absl::Status other = ReadBlocks({BlockOf(0, 2, 9, {1, 2})});
  EXPECT_THAT(std::string(other.message()), HasSubstr("an element of 9 places, expected 8"));
}

TEST(VectorBlocks, VectorsAndSectionsOfLoopsAreNotTakenForEachOther) {
  const auto element = static_cast<std::uint32_t>(LoopContent::kElement);
  EXPECT_THAT(std::string(ReadBlocks({BlockOf(0, 2, 8, {1, 2}, element)}).message()),
              HasSubstr("content 1"));
  const auto read = [](std::vector<std::string> blocks) {
    MemorySource source(std::move(blocks));
    return ReadLoopSection(source, kSmall.place_bytes);
  };
  const auto good = read({BlockOf(0, 2, 8, {1, 2}, element), BlockOf(4, 1, 8, {3}, element)});
  ASSERT_EQ(good.status(), absl::OkStatus());
  ASSERT_EQ(good->size(), 2u);
  EXPECT_EQ((*good)[1].first_place, 4);
  const std::vector<std::vector<std::string>> wrong = {
      {BlockOf(0, 2, 8, {1, 2})},                                           // of a vector
      {BlockOf(0, 2, 8, {}, element)},                                      // untouched
      {BlockOf(0, 2, 8, {1, 2}, 3)},                                        // nobody knows what
      {BlockOf(0, 2, 8, {1, 2}, element), BlockOf(1, 1, 8, {1}, element)},  // falls
      {BlockOf(0, 2, 8, {1, 2}, element), BlockOf(2, 1, 9, {1}, element)},  // of another size
      {BlockOf(7, 2, 8, {1, 2}, element)},                                  // beyond it
      {"short"},
  };
  for (const std::vector<std::string>& blocks : wrong) {
    EXPECT_EQ(read(blocks).status().code(), absl::StatusCode::kDataLoss);
  }
}

}  // namespace
}  // namespace weir
