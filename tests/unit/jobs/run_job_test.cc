#include "jobs/testing/run_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "jobs/api/part_lines.h"
#include "jobs/api/readers.h"
#include "jobs/engine/loop_program.h"
#include "jobs/engine/make_program.h"
#include "jobs/engine/value_program.h"

namespace weir {
namespace {

using testing::CheckCuts;
using testing::JobRun;
using testing::RunJob;

// Sums of the lines "word number".
struct SumWords {
  using Reader = TextLines;
  using Key = std::string;
  using Value = std::int64_t;
  static constexpr bool kCommutative = true;
  static constexpr std::array<std::string_view, 2> kCounters = {"lines", "large"};

  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    const std::size_t space = line.find(' ');
    std::int64_t number = 0;
    if (space == std::string_view::npos ||
        !absl::SimpleAtoi(std::string(line.substr(space + 1)), &number)) {
      return emit.Reject(line, "no number behind a space");
    }
    if (number == 666) throw std::invalid_argument("a number of bad luck");
    if (number == 667) throw std::bad_alloc();
    if (number == 668) throw number;
    emit.Increment(0);
    if (number > 100) emit.Increment(1);
    emit(line.substr(0, space), number * factor);
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::string_view word, const Value& sum, std::string& out) const {
    absl::StrAppend(&out, std::string(word), "=", sum, "\n");
  }
  std::int64_t factor = 1;
};

// Behind it: how many words have a sum.
struct CountSums {
  using Key = std::int64_t;
  using Value = std::int64_t;
  static constexpr bool kCommutative = true;
  template <typename Emit>
  void Map(std::string_view, const std::int64_t& sum, Emit& emit) {
    emit(sum, 1);
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(const std::int64_t& sum, const Value& words, std::string& out) const {
    absl::StrAppend(&out, sum, ":", words, "\n");
  }
};

// What the definitions of these tests share.
class Definition : public JobDefinition {
 public:
  explicit Definition(int num_layers = 1) {
    info_.name = "sums";
    info_.rates.layers.resize(static_cast<std::size_t>(num_layers));
    ParameterInfo factor;
    factor.name = "factor";
    factor.type = ParameterInfo::Type::kInteger;
    factor.default_value = "1";
    factor.min = -10;
    factor.max = 10;
    info_.parameters.push_back(factor);
  }
  const JobInfo& info() const override { return info_; }
  absl::Status CheckValues(const ParameterValues& values) const override {
    if (values.at("factor") != "0") return absl::OkStatus();
    return absl::InvalidArgumentError("parameter 'factor' is 0, and all sums with it");
  }
  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(
      const ParameterValues& values) const override {
    std::int64_t factor = 0;
    EXPECT_TRUE(absl::SimpleAtoi(values.at("factor"), &factor));
    if (info_.rates.layers.size() == 2) {
      return MakeChainProgram(SumWords{factor}, CountSums());
    }
    return MakeJobProgram(SumWords{factor});
  }
  ElementInfo Element(const ParameterValues&, int) const override { return ElementOf<SumWords>(); }
  absl::Status Present(absl::Span<const std::string> paths, const ParameterValues&,
                       std::ostream& out) const override {
    std::int64_t lines = 0;
    absl::Status read = VisitPartLines(paths, [&lines](std::string_view) {
      ++lines;
      return absl::OkStatus();
    });
    out << lines << " words in " << paths.size() << " parts\n";
    return read;
  }

 protected:
  JobInfo info_;
};

const std::vector<std::string> kInputs = {"a 1\nb 20\n", "", "a 300\nc 4\nb 5"};

TEST(RunJob, RunsAWholeJobOnTexts) {
  const auto result = RunJob(Definition(), {.inputs = kInputs});
  ASSERT_EQ(result.status, absl::OkStatus());
  EXPECT_EQ(result.output, "a=301\nb=25\nc=4\n");
  EXPECT_EQ(result.parts.size(), 1U);
  EXPECT_EQ(result.presented, "3 words in 1 parts\n");
  EXPECT_EQ(result.counters.at("lines"), 5);
  EXPECT_EQ(result.counters.at("large"), 1);
  EXPECT_TRUE(result.bad_records.empty());
  EXPECT_EQ(result.error_code, "");
}

TEST(RunJob, TakesParametersAndRefusesThem) {
  const Definition job;
  const auto times = [&](const char* factor) {
    return RunJob(job, {.inputs = {"a 2\n"}, .parameters = {{"factor", factor}}});
  };
  EXPECT_EQ(times("-3").output, "a=-6\n");
  EXPECT_EQ(times("11").status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(times("0").status.message().find("all sums"), std::string::npos);
  EXPECT_EQ(RunJob(job, {.parameters = {{"facto", "1"}}}).status.code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(RunJob, CutsWorkAsAsked) {
  const auto result =
      RunJob(Definition(),
             {.inputs = kInputs, .mappers = 3, .reducers = 4, .slots = 2, .combine_steps = true});
  ASSERT_EQ(result.status, absl::OkStatus());
  EXPECT_EQ(result.parts.size(), 4U);
  EXPECT_EQ(result.presented, "3 words in 4 parts\n");
  EXPECT_EQ(result.counters.at("lines"), 5);
  std::vector<std::string> lines;
  for (const std::string& part : result.parts) lines.push_back(part);
  EXPECT_EQ(result.output, lines[0] + lines[1] + lines[2] + lines[3]);
  EXPECT_EQ(RunJob(Definition(), {.mappers = 0}).status.code(), absl::StatusCode::kInvalidArgument);
}

TEST(RunJob, RunsChains) {
  for (const bool combine : {false, true}) {
    const auto result = RunJob(
        Definition(2),
        {.inputs = {"a 1\nb 2\nc 1\n", "b -1\nd 9\n"}, .mappers = 2, .combine_steps = combine});
    ASSERT_EQ(result.status, absl::OkStatus());
    EXPECT_EQ(result.output, "1:3\n9:1\n");
  }
}

TEST(RunJob, OfNothingGivesNothing) {
  EXPECT_EQ(RunJob(Definition(), {}).output, "");
  EXPECT_EQ(RunJob(Definition(), {.inputs = {"", ""}, .mappers = 3, .reducers = 2}).output, "");
}

TEST(RunJob, NamesTheRecordThatEndedTheJob) {
  const auto result = RunJob(Definition(), {.inputs = {"a 1\n", "b 2\nc\n"}});
  EXPECT_EQ(result.error_code, "BAD_RECORD");
  ASSERT_EQ(result.bad_records.size(), 1U);
  EXPECT_EQ(result.bad_records[0].file, "input-1");
  EXPECT_EQ(result.bad_records[0].byte_offset, 4);
  EXPECT_EQ(result.bad_records[0].content, "c");
  EXPECT_EQ(result.bad_records[0].reason, "no number behind a space");
}

TEST(RunJob, LeavesOutBadRecordsOverAllSteps) {
  const std::vector<std::string> inputs = {"a 1\nx\nb 2\ny\n"};
  const auto run = [&](std::int64_t skip_bad) {
    return RunJob(Definition(), {.inputs = inputs, .mappers = 2, .skip_bad = skip_bad});
  };
  EXPECT_EQ(run(2).output, "a=1\nb=2\n");
  EXPECT_EQ(run(2).bad_records.size(), 2U);
  EXPECT_EQ(run(1).error_code, "BAD_RECORD");
  EXPECT_EQ(run(1).bad_records.size(), 2U);
}

TEST(RunJob, NamesWhatTheJobThrows) {
  for (const int slots : {1, 2}) {
    const auto thrown = [slots](const char* number) {
      return RunJob(Definition(),
                    {.inputs = {absl::StrCat("a 1\nb ", number, "\n")}, .slots = slots});
    };
    EXPECT_EQ(thrown("666").error_code, "USER_ERROR");
    EXPECT_NE(thrown("666").status.message().find("bad luck"), std::string::npos);
    EXPECT_EQ(thrown("667").error_code, "OUT_OF_MEMORY");
    EXPECT_EQ(thrown("668").error_code, "USER_ERROR");
  }
}

TEST(RunJob, NamesWantOfMemory) {
  const std::string text = std::string(3 << 20, 'w') + " 1\n";
  const auto result = RunJob(Definition(), {.inputs = {text}, .memory_bytes = 1 << 20});
  EXPECT_EQ(result.error_code, "OUT_OF_MEMORY");
}

TEST(RunJob, WhatMemoryDoesNotHoldGoesToDiskAsWithTheFlag) {
  JobRun run = {.inputs = {""}};
  for (int i = 0; i < 100'000; ++i) {
    absl::StrAppend(&run.inputs[0], "a-word-that-is-not-short-", i, " 1\n");
  }
  const auto held = RunJob(Definition(), run);
  run.memory_bytes = 1 << 20;
  const auto spilled = RunJob(Definition(), run);
  ASSERT_TRUE(spilled.ok()) << spilled.status;
  EXPECT_TRUE(spilled.output == held.output);
}

// The last line wins, which it must not say of itself.
struct LastWins : SumWords {
  void Combine(Value& into, const Value& from) const { into = from; }
};
class LastWinsDefinition final : public Definition {
 public:
  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const ParameterValues&) const override {
    return MakeJobProgram(LastWins());
  }
};

TEST(RunJob, TriesWhatTheJobDeclares) {
  JobRun run = {.inputs = {"a 1\na 2\n"}};
  EXPECT_EQ(RunJob(LastWinsDefinition(), run).error_code, "NOT_COMMUTATIVE");
  run.check_operation = false;
  EXPECT_EQ(RunJob(LastWinsDefinition(), run).output, "a=2\n");
}

TEST(CheckCuts, PassesASoundJob) {
  const JobRun run = {.inputs = {"a 1\nb 2\nbad\n", "a 3\nc 4\nd 5\n"}, .skip_bad = 1};
  EXPECT_EQ(CheckCuts(Definition(), run), absl::OkStatus());
  EXPECT_EQ(CheckCuts(Definition(2), run), absl::OkStatus());
}

TEST(CheckCuts, SaysWhatWentWrongWithoutACut) {
  const absl::Status status = CheckCuts(Definition(), {.inputs = {"bad\n"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
}

// Forgets that others may have seen the key before: right only where nobody else has.
struct CountsItself : SumWords {
  static constexpr bool kCommutative = false;
  void Combine(Value& into, const Value& from) const { into = std::max(into, from) + 1; }
};
class CountsItselfDefinition final : public Definition {
 public:
  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const ParameterValues&) const override {
    return MakeJobProgram(CountsItself());
  }
};

TEST(CheckCuts, FindsAnOperationThatDependsOnTheCut) {
  const absl::Status status =
      CheckCuts(CountsItselfDefinition(), {.inputs = {"a 1\na 1\na 1\na 1\na 1\n"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.message().find("'a="), std::string::npos) << status;
  EXPECT_NE(status.message().find("with one mapper and one reducer"), std::string::npos) << status;
}

// All lines as one text, which no one but the whole can show.
struct Longest {
  using Reader = TextLines;
  using Value = std::string;
  std::int64_t ValueBytes() const { return 16; }
  template <typename Emit>
  void Map(std::string_view line, Value& value, Emit&) {
    if (line.size() > value.size()) value = std::string(line);
  }
  void Combine(Value& into, const Value& from) const {
    if (from.size() > into.size()) into = from;
  }
  void Format(std::int64_t, const Value& value, std::string& out) const {
    out.append(value).append("\n");
  }
};
class LongestDefinition final : public Definition {
 public:
  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const ParameterValues&) const override {
    return MakeValueProgram(Longest());
  }
  ElementInfo Element(const ParameterValues&, int) const override {
    return ValueElement(Longest());
  }
};

TEST(RunJob, RunsJobsOfOneValue) {
  const JobRun run = {.inputs = {"a\nbbb\ncc\n", "ddd\ne\n"}};
  EXPECT_EQ(RunJob(LongestDefinition(), run).output, "bbb\n");
  EXPECT_EQ(CheckCuts(LongestDefinition(), run), absl::OkStatus());
}

// Moves two places toward the mean of the numbers, by half of the way each time.
template <bool kEach>
struct FindMean {
  using Reader = TextLines;
  using Place = double;
  struct Resident {
    std::vector<double> numbers;
    std::int64_t memory_bytes() const { return static_cast<std::int64_t>(numbers.size()) * 8; }
  };
  static constexpr std::string_view kMeasure = "moved";
  static constexpr bool kElementWise = kEach;
  std::int64_t Places() const { return 2; }
  std::int64_t StatePlaces() const { return 2; }

  template <typename Emit>
  void Load(std::string_view line, Resident& resident, Emit& emit) {
    double number = 0;
    if (!absl::SimpleAtod(std::string(line), &number)) return emit.Reject(line, "no number");
    resident.numbers.push_back(number);
  }
  // Of all workers together: one number a mapper, so that the mean is that of these.
  void Map(int, const Resident& resident, absl::Span<const double>,
           absl::Span<double> element) const {
    for (const double number : resident.numbers) {
      for (double& place : element) place += number;
    }
  }
  void Combine(int, absl::Span<double> into, absl::Span<const double> from) const {
    for (std::size_t i = 0; i < into.size(); ++i) into[i] += from[i];
  }
  LoopOutcome Next(absl::Span<const double> state, absl::Span<const double> element,
                   absl::Span<double> next) const {
    LoopOutcome outcome;
    for (std::size_t i = 0; i < next.size(); ++i) {
      const double before = state.empty() ? 0 : state[i];
      next[i] = (before + element[i]) / 2;
      outcome.measure = std::max(outcome.measure, next[i] - before);
    }
    outcome.converged = outcome.measure < 1;
    return outcome;
  }
  absl::StatusOr<LoopOutcome> Update(int, absl::Span<const double> state,
                                     absl::Span<const double> element,
                                     absl::Span<double> next) const requires(!kEach) {
    return Next(state, element, next);
  }
  absl::StatusOr<LoopOutcome> Update(int, std::int64_t, absl::Span<const double> state,
                                     absl::Span<const double> element,
                                     absl::Span<double> next) const requires kEach {
    return Next(state, element, next);
  }
  void Format(absl::Span<const double> state, std::string& out) const requires(!kEach) {
    for (const double place : state) absl::StrAppend(&out, place, "\n");
  }
  void Format(std::int64_t, absl::Span<const double> state, std::string& out) const requires kEach {
    for (const double place : state) absl::StrAppend(&out, place, "\n");
  }
};
template <bool kEach>
class MeanDefinition final : public Definition {
 public:
  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const ParameterValues&) const override {
    return MakeLoopProgram(FindMean<kEach>());
  }
  ElementInfo Element(const ParameterValues&, int) const override { return {}; }
  absl::StatusOr<std::optional<LoopInfo>> Loop(const ParameterValues&) const override {
    LoopInfo loop;
    loop.iterations = 5;
    loop.element_places = loop.state_places = 2;
    loop.commutative = true;
    loop.element_wise = kEach;
    return loop;
  }
};

// 16 in all: 8, 12, 14, 15, 15.5 (moved by less than 1).
template <bool kEach>
void CheckMean() {
  const std::vector<std::string> inputs = {"1\n2\n", "10\n3\n"};
  for (const int reducers : {1, 2}) {
    const auto result =
        RunJob(MeanDefinition<kEach>(), {.inputs = inputs, .mappers = 2, .reducers = reducers});
    ASSERT_EQ(result.status, absl::OkStatus());
    EXPECT_EQ(result.output, "15.5\n15.5\n");
    EXPECT_EQ(result.parts.size(), kEach ? static_cast<std::size_t>(reducers) : 1U);
    ASSERT_EQ(result.iterations.size(), 5U);
    EXPECT_EQ(result.iterations[0].measure, 8);
    EXPECT_EQ(result.iterations[0].measure_name, "moved");
    EXPECT_FALSE(result.iterations[3].converged);
    EXPECT_TRUE(result.iterations[4].converged);
  }
  EXPECT_EQ(CheckCuts(MeanDefinition<kEach>(), {.inputs = inputs}), absl::OkStatus());
  EXPECT_EQ(RunJob(MeanDefinition<kEach>(), {.inputs = {"1\nx\n"}}).error_code, "BAD_RECORD");
}

TEST(RunJob, RunsLoops) {
  CheckMean<false>();
  CheckMean<true>();
}

TEST(RunJob, MayBeCalledByThreadsAtOnce) {
  std::array<std::string, 4> outputs;
  std::vector<std::thread> threads;
  for (std::string& output : outputs) {
    threads.emplace_back([&output] { output = RunJob(Definition(), {.inputs = kInputs}).output; });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& output : outputs) EXPECT_EQ(output, "a=301\nb=25\nc=4\n");
}

}  // namespace
}  // namespace weir
