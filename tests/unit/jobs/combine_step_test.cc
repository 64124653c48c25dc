// Combine steps of tables: pairs in, pairs of the same layer out, whatever the tree.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "jobs/api/readers.h"
#include "jobs/api/step_error.h"
#include "jobs/engine/group_values.h"
#include "jobs/engine/make_program.h"
#include "jobs/testing/in_process_job.h"
#include "tests/unit/jobs/random_tree.h"
#include "tests/unit/jobs/sorted_lines.h"

namespace weir {
namespace {

using testing::EvenCut;
using ::testing::HasSubstr;
using testing::MemoryRun;
using testing::MemorySource;
using testing::RecordingContext;
using testing::ScratchFile;
using testing::SortedLines;

// "key text" lines: the texts of each key one after the other, which only one order gives.
struct JoinTexts {
  using Reader = TextLines;
  using Key = std::string;
  using Value = std::string;
  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    const std::size_t space = line.find(' ');
    emit(line.substr(0, space), std::string(line.substr(space + 1)));
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::string_view key, const Value& value, std::string& out) const {
    out.append(key).append("=").append(value).append("\n");
  }
};

struct CountKeys {
  using Key = std::int64_t;
  using Value = std::int64_t;
  static constexpr bool kCommutative = true;
  template <typename Emit>
  void Map(std::string_view, const std::string& text, Emit& emit) {
    emit(static_cast<std::int64_t>(text.size()), 1);
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::int64_t key, const Value& value, std::string& out) const {
    out += std::to_string(key) + " " + std::to_string(value) + "\n";
  }
};

struct SameKey {
  using Reader = TextLines;
  using Key = std::string;
  using Value = std::string;
  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    emit(line, "");
  }
  template <typename Emit>
  void Reduce(std::string_view, GroupValues<std::string>&, Emit&&) const {}
  void Format(std::string_view, const Value&, std::string&) const {}
};

RC_GTEST_PROP(CombineStep, AnyTreeKeepsTheOrderOfTheInput, ()) {
  const auto num_lines = *rc::gen::inRange(0, 400);
  const auto num_keys = *rc::gen::inRange(1, 60);
  const auto mappers = *rc::gen::inRange(1, 8);
  const auto slots = *rc::gen::inRange(1, 4);
  const auto parts = *rc::gen::inRange(1, 4);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  std::string text;
  std::map<std::string, std::string> expected;
  for (int i = 0; i < num_lines; ++i) {
    const int of = (i * 7919 + i / 3) % num_keys;
    // Some keys are longer than a table entry holds.
    const std::string key = std::string(of % 3 == 0 ? 40 : 1, 'k') + std::to_string(of);
    const std::string word = "," + std::to_string(i);
    text += key + " " + word + "\n";
    expected[key] += word;
  }
  std::string lines;
  for (const auto& [key, value] : expected) lines += key + "=" + value + "\n";
  const ScratchFile file(text);
  const auto program = MakeJobProgram(JoinTexts());
  const auto made =
      testing::RunAlongRandomTree(*program, EvenCut({file.path()}, mappers, 1, slots), parts, seed);
  RC_ASSERT(made.ok());
  RC_ASSERT(SortedLines(*made) == SortedLines({lines}));
}

TEST(CombineStep, MakesPairsOfItsOwnLayerAndCutsThemForItsConsumers) {
  // Sections as they follow layer 1 of a chain: texts by key, not what the next Map makes of them.
  const ScratchFile file("a 1\nb 22\na 3\nc 4\n");
  const auto program = MakeChainProgram(JoinTexts(), CountKeys());
  RecordingContext context(2);
  MemoryRun map;
  ASSERT_TRUE(program->Map({{file.range()}, {1.0}}, map, context).ok());
  CombineOrder order;
  for (int twice = 0; twice < 2; ++twice) {
    order.inputs.push_back(std::make_unique<MemorySource>(map.sections().at(0)));
  }
  order.inputs.push_back(std::make_unique<MemorySource>(std::vector<std::string>()));
  order.consumer_key_end = {0.5, 0.5, 1.0};
  MemoryRun run;
  const auto totals = program->Combine(std::move(order), run, context);
  ASSERT_TRUE(totals.ok()) << totals.status();
  EXPECT_EQ(totals->input_records, 6);
  EXPECT_EQ(totals->output_records, 3);
  EXPECT_EQ(run.sections().count(1), 0) << "nothing lies in an empty range";
  std::map<std::string, std::string> pairs;
  for (const auto& [consumer, blocks] : run.sections()) {
    MemorySource source(blocks);
    SectionReader reader(source);
    SectionRecord record;
    while (*reader.Next(record)) {
      std::string value;
      ASSERT_TRUE(ValueCodec<std::string>::Take(record.value, value));
      pairs[std::string(record.key)] = value;
    }
  }
  const std::map<std::string, std::string> expected = {{"a", "1313"}, {"b", "2222"}, {"c", "44"}};
  EXPECT_EQ(pairs, expected);
}

TEST(CombineStep, SecondLayerOfAChainCombinesItsOwnPairs) {
  const auto program = MakeChainProgram(JoinTexts(), CountKeys());
  MemoryRun made;
  SectionWriter writer(made);
  ASSERT_TRUE(writer.Begin(0).ok());
  std::string key, value;
  KeyCodec<std::int64_t>::Append(12, key);
  ValueCodec<std::int64_t>::Append(3, value);
  ASSERT_TRUE(writer.Add(key, value).ok());
  ASSERT_TRUE(writer.Finish().ok());
  CombineOrder order;
  order.layer = 2;
  order.consumer_key_end = {1.0};
  for (int twice = 0; twice < 2; ++twice) {
    order.inputs.push_back(std::make_unique<MemorySource>(made.sections().at(0)));
  }
  MemoryRun run;
  RecordingContext context(1);
  ASSERT_TRUE(program->Combine(std::move(order), run, context).ok());
  ReduceOrder reduce;
  reduce.layer = 2;
  reduce.inputs.push_back(std::make_unique<MemorySource>(run.sections().at(0)));
  testing::MemoryPart part;
  ASSERT_TRUE(program->ReduceToPart(std::move(reduce), part, context).ok());
  EXPECT_EQ(part.text, "12 6\n");
}

TEST(CombineStep, AFewLargeInputsMayUseTheMemoryOfAllSlots) {
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "a rather long key " + std::to_string(i) + " x\n";
  const ScratchFile file(text);
  const auto program = MakeJobProgram(JoinTexts());
  MemoryRun map;
  RecordingContext any(1);
  ASSERT_TRUE(program->Map({{file.range()}, {1.0}}, map, any).ok());
  const auto combine = [&](int slots, std::int64_t memory_bytes) {
    CombineOrder order;
    order.inputs.push_back(std::make_unique<MemorySource>(map.sections().at(0)));
    order.consumer_key_end = {1.0};
    MemoryRun run;
    RecordingContext context(slots, memory_bytes);
    return program->Combine(std::move(order), run, context).status();
  };
  std::int64_t enough = 1;
  while (!combine(1, enough).ok()) enough *= 2;
  EXPECT_EQ(combine(8, enough), absl::OkStatus());
  EXPECT_EQ(combine(8, enough / 2).code(), absl::StatusCode::kResourceExhausted);
}

TEST(CombineStep, OneKeyWorkersWithoutInputAndMoreReducersThanKeysGiveTheSame) {
  std::string text, value;
  for (int i = 0; i < 50; ++i) {
    text += "k ," + std::to_string(i) + "\n";
    value += "," + std::to_string(i);
  }
  const ScratchFile file(text);
  const auto program = MakeJobProgram(JoinTexts());
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    testing::JobCut cut = EvenCut({file.path()}, 3, 1, 2);
    cut.mappers.insert(cut.mappers.begin() + 1, std::vector<InputRange>());
    const auto parts = testing::RunAlongRandomTree(*program, cut, 9, seed);
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_EQ(SortedLines(*parts), "k=" + value + "\n");
    EXPECT_EQ(
        testing::RunAlongRandomTree(*program, EvenCut({file.path()}, 1, 1, 1), 2, seed)->size(), 2u)
        << "one worker";
  }
}

TEST(CombineStep, AHugeValueTravelsWholeOrIsNamed) {
  // 3 MB under one key: longer than a block of a section.
  std::string text;
  for (int i = 0; i < 3; ++i) {
    text += "k " + std::string(1 << 20, static_cast<char>('a' + i)) + "\n";
  }
  const ScratchFile file(text);
  const auto program = MakeJobProgram(JoinTexts());
  const auto parts = testing::RunAlongRandomTree(*program, EvenCut({file.path()}, 3, 1, 1), 1, 5);
  ASSERT_TRUE(parts.ok()) << parts.status();
  ASSERT_EQ((*parts)[0].size(), 3 * (std::size_t{1} << 20) + 3);
  EXPECT_EQ((*parts)[0][2], 'a');
  EXPECT_EQ((*parts)[0][(*parts)[0].size() - 2], 'c');
  MemoryRun run;
  RecordingContext narrow(1, 2 << 20);
  const absl::Status status = program->Map({{file.range()}, {1.0}}, run, narrow).status();
  ASSERT_TRUE(StepErrorOf(status).has_value()) << status;
  EXPECT_EQ(StepErrorOf(status)->code, step_error::kOutOfMemory);
}

TEST(CombineStep, WhatCannotBeCombinedIsNamed) {
  const auto grouped = MakeJobProgram(SameKey());
  MemoryRun run;
  RecordingContext context(1);
  CombineOrder order;
  order.consumer_key_end = {1.0};
  const auto refused = grouped->Combine(std::move(order), run, context);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("layer 1 cannot be combined"));
  CombineOrder beyond;
  beyond.layer = 3;
  beyond.consumer_key_end = {1.0};
  const auto none =
      MakeChainProgram(JoinTexts(), CountKeys())->Combine(std::move(beyond), run, context);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInternal);
}

TEST(CombineStep, ElementsSayWhatTheClassesSay) {
  EXPECT_EQ(ElementOf<JoinTexts>().kind, ElementKind::kTable);
  EXPECT_EQ(ElementOf<JoinTexts>().places, kTablePlaces);
  EXPECT_FALSE(ElementOf<JoinTexts>().commutative);
  EXPECT_TRUE(ElementOf<CountKeys>().commutative);
  EXPECT_EQ(ElementOf<SameKey>().kind, ElementKind::kNone);
}

}  // namespace
}  // namespace weir
