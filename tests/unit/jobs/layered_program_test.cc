#include "jobs/engine/layered_program.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "jobs/api/bad_record.h"
#include "jobs/api/readers.h"
#include "jobs/api/step_error.h"
#include "jobs/engine/make_program.h"
#include "jobs/testing/in_process_job.h"
#include "tests/unit/jobs/sorted_lines.h"

namespace weir {
namespace {

using testing::EvenCut;
using testing::EvenKeyEnds;
using testing::JobCut;
using testing::RunJob;
using testing::ScratchFile;
using testing::SortedLines;

// Counts lines by their text.
struct CountLines {
  using Reader = TextLines;
  using Key = std::string;
  using Value = std::int64_t;
  static constexpr std::array<std::string_view, 1> kCounters = {"lines"};

  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    emit.Increment(0);
    emit(line, 1);
  }
  void Combine(Value& into, const Value& from) const { into += from; }
};

// Which lines are there how often: the lines of each count, with a key of another type.
struct LinesByCount {
  using Key = std::int64_t;
  using Value = std::string;
  static constexpr std::array<std::string_view, 1> kCounters = {"distinct"};

  template <typename Emit>
  void Map(std::string_view line, const std::int64_t& count, Emit& emit) {
    if (line == "forbidden") return emit.Reject(line, "not wanted here");
    emit.Increment(0);
    emit(count, std::string(line));
  }
  template <typename Emit>
  void Reduce(std::int64_t count, GroupValues<std::string>& lines, Emit&& emit) const {
    std::vector<std::string> sorted;
    for (std::string line; lines.Next(line);) sorted.push_back(line);
    std::sort(sorted.begin(), sorted.end());
    std::string all;
    for (const std::string& line : sorted) all += " " + line;
    emit(count, all);
  }
  void Format(std::int64_t count, const std::string& lines, std::string& out) const {
    out += std::to_string(count) + ":" + lines + "\n";
  }
};

// By number of different lines, how many counts have it; takes what Reduce of the layer before
// emitted.
struct CountsByWidth {
  using Key = std::tuple<std::int32_t, std::string>;
  using Value = std::int64_t;

  template <typename Emit>
  void Map(std::int64_t, const std::string& lines, Emit& emit) {
    emit({static_cast<std::int32_t>(std::count(lines.begin(), lines.end(), ' ')), "lines"}, 1);
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(const KeyView<Key>& key, const Value& value, std::string& out) const {
    out += std::to_string(std::get<0>(key)) + " " + std::string(std::get<1>(key)) + ": " +
           std::to_string(value) + "\n";
  }
};

JobCut ChainCut(const std::string& path, int mappers, const std::vector<int>& reducers, int slots) {
  JobCut cut = EvenCut({path}, mappers, reducers.back(), slots);
  for (std::size_t i = 0; i + 1 < reducers.size(); ++i) {
    cut.inner_key_ends.push_back(EvenKeyEnds(reducers[i]));
  }
  return cut;
}

constexpr char kLines[] = "a\nb\na\nc\nc\nd\nb\ne\nlonger than any inline key\nc\n";

TEST(LayeredProgram, CombineFeedsReduceFeedsCombine) {
  const ScratchFile file(kLines);
  const auto two = MakeChainProgram(CountLines(), LinesByCount());
  const auto three = MakeChainProgram(CountLines(), LinesByCount(), CountsByWidth());
  for (int n = 1; n < 5; ++n) {
    const auto second = RunJob(*two, ChainCut(file.path(), n, {5 - n, n}, n % 3 + 1));
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_EQ(SortedLines(*second), "1: d e longer than any inline key\n2: a b\n3: c\n");
    const auto third = RunJob(*three, ChainCut(file.path(), n, {n, 2, 3}, n % 3 + 1));
    ASSERT_TRUE(third.ok()) << third.status();
    EXPECT_EQ(SortedLines(*third), "1 lines: 1\n2 lines: 1\n7 lines: 1\n");
  }
}

TEST(LayeredProgram, SamePlanGivesSameBytes) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::to_string(i * i % 701) + "\n";
  const ScratchFile file(text);
  const auto program = MakeChainProgram(CountLines(), LinesByCount(), CountsByWidth());
  const JobCut cut = ChainCut(file.path(), 3, {4, 2, 2}, 3);
  const auto once = RunJob(*program, cut);
  const auto twice = RunJob(*program, cut);
  ASSERT_TRUE(once.ok() && twice.ok()) << once.status();
  EXPECT_EQ(*once, *twice);
}

TEST(LayeredProgram, EmptyInputAndEmptyLayers) {
  const ScratchFile empty("");
  const auto program = MakeChainProgram(CountLines(), LinesByCount(), CountsByWidth());
  JobCut cut = ChainCut(empty.path(), 2, {3, 2, 2}, 2);
  const auto parts = RunJob(*program, cut);
  ASSERT_TRUE(parts.ok()) << parts.status();
  EXPECT_EQ(*parts, (std::vector<std::string>{"", ""}));
}

TEST(LayeredProgram, CountersOfEveryLayerAndRecordsOfTheStep) {
  const ScratchFile file(kLines);
  const auto program = MakeChainProgram(CountLines(), LinesByCount());
  testing::RecordingContext context(2);
  testing::MemoryRun mapped;
  ASSERT_TRUE(program->Map({{file.range()}, {1.0}}, mapped, context).ok());
  EXPECT_EQ(context.counters["lines"], 10);
  ReduceOrder order;
  order.inputs.push_back(std::make_unique<testing::MemorySource>(mapped.sections().at(0)));
  order.consumer_key_end = {1.0};
  testing::MemoryRun reduced;
  const auto totals = program->ReduceToRun(std::move(order), reduced, context);
  ASSERT_TRUE(totals.ok()) << totals.status();
  EXPECT_EQ(totals->input_records, 6);
  EXPECT_EQ(totals->output_records, 6);
  EXPECT_EQ(context.counters["distinct"], 6);
}

TEST(LayeredProgram, RejectInALaterLayerSaysThatItIsNoRecordOfAFile) {
  const ScratchFile file("a\nforbidden\nb\n");
  const auto program = MakeChainProgram(CountLines(), LinesByCount());
  const auto parts = RunJob(*program, ChainCut(file.path(), 1, {1, 1}, 1));
  ASSERT_FALSE(parts.ok());
  const auto bad = BadRecordOf(parts.status());
  ASSERT_TRUE(bad.has_value()) << parts.status();
  EXPECT_EQ(bad->file, "");
  EXPECT_EQ(bad->content, "forbidden");
  EXPECT_EQ(bad->reason, "not wanted here");
}

TEST(LayeredProgram, OrdersForLayersThatTheChainHasNotAreRefused) {
  const auto program = MakeChainProgram(CountLines(), LinesByCount());
  testing::RecordingContext context(1);
  for (const int layer : {0, 2, 3}) {
    ReduceOrder order;
    order.layer = layer;
    order.consumer_key_end = {1.0};
    testing::MemoryRun run;
    EXPECT_TRUE(absl::IsInternal(program->ReduceToRun(std::move(order), run, context).status()));
  }
  testing::MemoryPart part;
  EXPECT_TRUE(absl::IsInternal(program->ReduceToPart(ReduceOrder(), part, context).status()));
}

// Each of its results becomes a thousand pairs.
struct Explode {
  using Key = std::string;
  using Value = std::int64_t;
  template <typename Emit>
  void Map(std::string_view line, const std::int64_t&, Emit& emit) {
    for (int i = 0; i < 1000; ++i) {
      emit(std::string(line) + "/" + std::to_string(i) + "/of a thousand", 1);
    }
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::string_view key, const Value& value, std::string& out) const {
    out.append(key).append("=").append(std::to_string(value)).append("\n");
  }
};

TEST(LayeredProgram, ALayerWhoseOutputExplodesIsRightOrRunsOutOfMemoryByName) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "line " + std::to_string(i) + "\n";
  const ScratchFile file(text);
  const auto program = MakeChainProgram(CountLines(), Explode());
  const auto parts = RunJob(*program, ChainCut(file.path(), 2, {2, 3}, 2));
  ASSERT_TRUE(parts.ok()) << parts.status();
  std::int64_t lines = 0;
  for (const std::string& part : *parts) lines += std::count(part.begin(), part.end(), '\n');
  EXPECT_EQ(lines, 200'000);

  testing::MemoryRun mapped;
  testing::RecordingContext wide(1);
  ASSERT_TRUE(program->Map({{file.range()}, {1.0}}, mapped, wide).ok());
  ReduceOrder order;
  order.inputs.push_back(std::make_unique<testing::MemorySource>(mapped.sections().at(0)));
  order.consumer_key_end = {1.0};
  testing::RecordingContext tight(1, 2 << 20);
  testing::MemoryRun run;
  const auto error = StepErrorOf(program->ReduceToRun(std::move(order), run, tight).status());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, step_error::kOutOfMemory);
}

// Layers drawn at random: what a layer does with a pair depends on its parameters only.
struct Recipe {
  std::int64_t factor = 1;
  std::int64_t keys = 1;
  int copies = 1;  // pairs per pair; 0 = none
  bool sums = true;

  template <typename Take>
  void Spread(std::int64_t key, std::int64_t value, Take&& take) const {
    for (int i = 0; i < copies; ++i) take((key * factor + i) % keys, value + i * key);
  }
  void Fold(std::int64_t& into, std::int64_t from) const {
    into = sums ? (into + from) % 1'000'003 : std::max(into, from);
  }
};

template <bool kFirst>
struct Mapping {
  using Key = std::int64_t;
  using Value = std::int64_t;
  Recipe recipe;

  template <typename Emit>
  void Map(const std::int64_t& key, const std::int64_t& value, Emit& emit) {
    recipe.Spread(key, value, [&](std::int64_t k, std::int64_t v) { emit(k, v); });
  }
};
template <>
struct Mapping<true> {
  using Reader = TextLines;
  using Key = std::int64_t;
  using Value = std::int64_t;
  Recipe recipe;

  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    const auto number = static_cast<std::int64_t>(line.size());
    recipe.Spread(number, number, [&](std::int64_t k, std::int64_t v) { emit(k, v); });
  }
};

template <bool kFirst>
struct Folding : Mapping<kFirst> {
  void Combine(std::int64_t& into, const std::int64_t& from) const {
    this->recipe.Fold(into, from);
  }
  void Format(std::int64_t key, const std::int64_t& value, std::string& out) const {
    out += std::to_string(key) + " " + std::to_string(value) + "\n";
  }
};

// Emits two results a group.
template <bool kFirst>
struct Grouping : Mapping<kFirst> {
  template <typename Emit>
  void Reduce(std::int64_t key, GroupValues<std::int64_t>& values, Emit&& emit) const {
    std::int64_t folded = 0;
    std::int64_t count = 0;
    for (std::int64_t value = 0; values.Next(value); ++count) {
      if (count == 0) {
        folded = value;
      } else {
        this->recipe.Fold(folded, value);
      }
    }
    emit(key, folded);
    emit(key + 1, count);
  }
  void Format(std::int64_t key, const std::int64_t& value, std::string& out) const {
    out += std::to_string(key) + " " + std::to_string(value) + "\n";
  }
};

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

// One layer in plain sight.
Pairs RunLayer(const Pairs& pairs, const Recipe& recipe, bool groups) {
  std::map<std::int64_t, std::vector<std::int64_t>> by_key;
  for (const auto& [key, value] : pairs) {
    recipe.Spread(key, value, [&](std::int64_t k, std::int64_t v) { by_key[k].push_back(v); });
  }
  Pairs results;
  for (const auto& [key, values] : by_key) {
    std::int64_t folded = values[0];
    for (std::size_t i = 1; i < values.size(); ++i) recipe.Fold(folded, values[i]);
    results.emplace_back(key, folded);
    if (groups) results.emplace_back(key + 1, values.size());
  }
  return results;
}

template <bool kFirst>
using C = Folding<kFirst>;
template <bool kFirst>
using R = Grouping<kFirst>;

template <template <bool> typename First, template <bool> typename... Rest>
void CheckChain(const std::vector<bool>& groups) {
  constexpr std::size_t kLayers = 1 + sizeof...(Rest);
  std::vector<Recipe> recipes(kLayers);
  std::vector<int> reducers(kLayers);
  for (std::size_t i = 0; i < kLayers; ++i) {
    recipes[i] = {*rc::gen::inRange(1, 50), *rc::gen::inRange(1, 40), *rc::gen::inRange(0, 4),
                  *rc::gen::arbitrary<bool>()};
    reducers[i] = *rc::gen::inRange(1, 5);
  }
  const auto lengths = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 30));
  std::string text;
  Pairs pairs;
  for (const int length : lengths) {
    text += std::string(static_cast<std::size_t>(length), 'x') + "\n";
    pairs.emplace_back(length, length);
  }
  const ScratchFile file(text);
  std::size_t next = 1;
  // Braces fix the order in which the recipes are taken.
  const auto program =
      std::apply([](auto... jobs) { return MakeChainProgram(jobs...); },
                 std::tuple<First<true>, Rest<false>...>{First<true>{{recipes[0]}},
                                                         Rest<false>{{recipes[next++]}}...});
  const auto parts = RunJob(
      *program, ChainCut(file.path(), *rc::gen::inRange(1, 4), reducers, *rc::gen::inRange(1, 4)));
  RC_ASSERT(parts.ok());
  for (std::size_t i = 0; i < kLayers; ++i) pairs = RunLayer(pairs, recipes[i], groups[i]);
  std::vector<std::string> expected(1);
  for (const auto& [key, value] : pairs) {
    expected[0] += std::to_string(key) + " " + std::to_string(value) + "\n";
  }
  RC_ASSERT(SortedLines(*parts) == SortedLines(expected));
}

RC_GTEST_PROP(LayeredProgramProperty, OneLayer, ()) {
  CheckChain<C>({false});
  CheckChain<R>({true});
}
RC_GTEST_PROP(LayeredProgramProperty, TwoLayers, ()) {
  CheckChain<C, R>({false, true});
  CheckChain<R, C>({true, false});
}
RC_GTEST_PROP(LayeredProgramProperty, ThreeLayers, ()) {
  CheckChain<C, C, R>({false, false, true});
  CheckChain<R, R, C>({true, true, false});
}
RC_GTEST_PROP(LayeredProgramProperty, FourLayers, ()) {
  CheckChain<C, R, C, R>({false, true, false, true});
}

}  // namespace
}  // namespace weir
