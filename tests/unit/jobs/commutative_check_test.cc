#include "jobs/engine/commutative_check.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "gmock/gmock.h"
#include "jobs/api/bad_record.h"
#include "jobs/api/readers.h"
#include "jobs/engine/make_program.h"
#include "tests/unit/jobs/in_process_job.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using testing::MemoryRun;
using testing::RecordingContext;
using testing::ScratchFile;

// "key text": the texts joined, which it wrongly calls commutative.
template <bool kDeclared>
struct JoinTexts {
  using Reader = TextLines;
  using Key = std::string;
  using Value = std::string;
  static constexpr bool kCommutative = kDeclared;
  static constexpr std::array<std::string_view, 1> kCounters = {"lines"};
  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    emit.Increment(0);
    if (line.empty()) return emit.Reject(line, "empty");
    const std::size_t space = line.find(' ');
    emit(line.substr(0, space), std::string(line.substr(space + 1)));
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::string_view key, const Value& value, std::string& out) const {
    out.append(key).append("=").append(value).append("\n");
  }
};

// Padding between its members is no difference.
struct Padded {
  char kind = 0;
  double sum = 0;
};
struct SumPadded {
  using Reader = TextLines;
  using Key = std::int64_t;
  using Value = Padded;
  static constexpr bool kCommutative = true;
  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    Padded value;
    std::memset(static_cast<void*>(&value), static_cast<int>(line.size()), sizeof value);
    value.kind = 1;
    value.sum = static_cast<double>(line.size());
    emit(7, value);
  }
  void Combine(Value& into, const Value& from) const { into.sum += from.sum; }
  void Format(std::int64_t, const Value&, std::string&) const {}
};

struct KeepLast {
  using Reader = TextLines;
  using Key = std::int64_t;
  using Value = std::int64_t;
  static constexpr bool kCommutative = true;
  template <typename Emit>
  void Map(std::string_view line, Emit& emit) {
    emit(1, static_cast<std::int64_t>(line.size()));
  }
  void Combine(Value& into, const Value& from) const { into = from; }
};
struct CountOnce {
  using Key = std::int64_t;
  using Value = std::int64_t;
  template <typename Emit>
  void Map(std::int64_t key, const std::int64_t&, Emit& emit) {
    emit(key, 1);
  }
  void Combine(Value& into, const Value& from) const { into += from; }
  void Format(std::int64_t, const Value&, std::string&) const {}
};

absl::Status MapWith(JobProgram& program, const ScratchFile& file, RecordingContext& context) {
  MemoryRun run;
  return program.Map({{file.range()}, {1.0}}, run, context).status();
}

TEST(CommutativeCheck, ADifferenceIsNamedWithKeyAndBothResults) {
  const ScratchFile file("a x\nb y\nb y\na z\n");
  RecordingContext context(2);
  const absl::Status status = MapWith(*MakeJobProgram(JoinTexts<true>()), file, context);
  ASSERT_TRUE(StepErrorOf(status).has_value()) << status;
  EXPECT_EQ(StepErrorOf(status)->code, step_error::kNotCommutative);
  EXPECT_THAT(StepErrorOf(status)->message,
              HasSubstr("key 'a' combine to 'a=xz' in the order of the input and to 'a=zx'"));
  EXPECT_THAT(StepErrorOf(status)->advice, HasSubstr("kCommutative"));
}

TEST(CommutativeCheck, WhatDeclaresNothingIsNotTried) {
  const ScratchFile file("a x\na z\n");
  RecordingContext context(1);
  EXPECT_EQ(MapWith(*MakeJobProgram(JoinTexts<false>()), file, context), absl::OkStatus());
}

TEST(CommutativeCheck, FirstJobsOfChainsAreTriedToo) {
  const ScratchFile file("x\nyy\n");
  RecordingContext context(1);
  const absl::Status status = MapWith(*MakeChainProgram(KeepLast(), CountOnce()), file, context);
  ASSERT_TRUE(StepErrorOf(status).has_value()) << status;
  EXPECT_THAT(StepErrorOf(status)->message, HasSubstr("to '\\x02"));
}

TEST(CommutativeCheck, TrialsLeaveNoTraceInCountersProgressAndRejectedRecords) {
  const ScratchFile file("a x\n\nb y\n");
  RecordingContext context(1);
  context.skip_bad = 1;
  EXPECT_EQ(MapWith(*MakeJobProgram(JoinTexts<true>()), file, context), absl::OkStatus());
  EXPECT_EQ(context.counters["lines"], 3);
  EXPECT_EQ(context.skipped.size(), 1u);
  EXPECT_EQ(context.progress_bytes, 9);
  RecordingContext strict(1);
  const absl::Status bad = MapWith(*MakeJobProgram(JoinTexts<true>()), file, strict);
  EXPECT_TRUE(BadRecordOf(bad).has_value()) << "the step itself names what is wrong with the input";
}

TEST(CommutativeCheck, PaddingIsNoDifference) {
  const ScratchFile file("a\nbb\nccc\n");
  RecordingContext context(1);
  EXPECT_EQ(MapWith(*MakeJobProgram(SumPadded()), file, context), absl::OkStatus());
}

TEST(CommutativeCheck, OnlyTheFirstPairsAreTried) {
  std::string text;
  for (int i = 0; i < 65; ++i) text += "a 1\n";
  text += "a 2\n";
  const ScratchFile late(text);
  RecordingContext context(1);
  EXPECT_EQ(MapWith(*MakeJobProgram(JoinTexts<true>()), late, context), absl::OkStatus());
}

}  // namespace
}  // namespace weir
