#include "jobs/engine/operation_check.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "gmock/gmock.h"
#include "jobs/api/bad_record.h"
#include "jobs/api/readers.h"
#include "jobs/engine/make_program.h"
#include "jobs/engine/vector_program.h"
#include "jobs/testing/in_process_job.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using testing::MemoryRun;
using testing::RecordingContext;
using testing::ScratchFile;

// "key text": the texts joined, which it wrongly calls commutative.
template <bool kDeclared>
struct JoinTextsInOrder {
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
  const absl::Status status = MapWith(*MakeJobProgram(JoinTextsInOrder<true>()), file, context);
  ASSERT_TRUE(StepErrorOf(status).has_value()) << status;
  EXPECT_EQ(StepErrorOf(status)->code, step_error::kNotCommutative);
  EXPECT_THAT(StepErrorOf(status)->message,
              HasSubstr("key 'a' combine to 'a=xz' in the order of the input and to 'a=zx'"));
  EXPECT_THAT(StepErrorOf(status)->advice, HasSubstr("kCommutative"));
}

TEST(CommutativeCheck, WhatDeclaresNothingIsNotTried) {
  const ScratchFile file("a x\na z\n");
  RecordingContext context(1);
  EXPECT_EQ(MapWith(*MakeJobProgram(JoinTextsInOrder<false>()), file, context), absl::OkStatus());
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
  EXPECT_EQ(MapWith(*MakeJobProgram(JoinTextsInOrder<true>()), file, context), absl::OkStatus());
  EXPECT_EQ(context.counters["lines"], 3);
  EXPECT_EQ(context.skipped.size(), 1u);
  EXPECT_EQ(context.progress_bytes, 9);
  RecordingContext strict(1);
  const absl::Status bad = MapWith(*MakeJobProgram(JoinTextsInOrder<true>()), file, strict);
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
  EXPECT_EQ(MapWith(*MakeJobProgram(JoinTextsInOrder<true>()), late, context), absl::OkStatus());
}

TEST(CommutativeCheck, NothingIsTriedWhereTheStepIsToldNotTo) {
  const ScratchFile file("a x\na z\n");
  RecordingContext context(1);
  context.check_operation = false;
  EXPECT_EQ(MapWith(*MakeJobProgram(JoinTextsInOrder<true>()), file, context), absl::OkStatus());
}

double DecimalOf(std::string_view text) {
  double number = 0;
  return absl::SimpleAtod(std::string(text), &number) ? number
                                                      : std::numeric_limits<double>::quiet_NaN();
}

// Lines with a number each: the numbers added up in the places in turn. What derives from it lies.
struct SumByPlace {
  using Reader = TextLines;
  using Place = double;
  static constexpr bool kCommutative = true;
  std::int64_t places = 3;
  std::int64_t Places() const { return places; }
  template <typename Emit>
  void Map(std::string_view line, absl::Span<Place> element, Emit&) {
    element[line.size() % element.size()] += DecimalOf(line);
  }
  void Combine(Place& into, const Place& from) const { into += from; }
  void Format(std::int64_t place, const Place& value, std::string& out) const {
    out += std::to_string(place) + " " + std::to_string(value) + "\n";
  }
};

struct KeepLater : SumByPlace {
  void Combine(Place& into, const Place& from) const { into = from; }
};
struct KeepLaterInOrder : KeepLater {
  static constexpr bool kCommutative = false;
};
struct Mean : SumByPlace {
  void Combine(Place& into, const Place& from) const { into = (into + from) / 2; }
};
struct SumFromOne : SumByPlace {
  Place Neutral(std::int64_t) const { return 1; }
};

// 2 x 2 matrices: associative and nothing else.
template <bool kDeclared, bool kWhole>
struct ProductInOrder {
  using Reader = TextLines;
  using Place = std::int64_t;
  static constexpr bool kCommutative = kDeclared;
  static constexpr bool kSplits = !kWhole;
  std::int64_t Places() const { return 4; }
  Place Neutral(std::int64_t place) const { return place == 0 || place == 3 ? 1 : 0; }
  template <typename Emit>
  void Map(std::string_view line, absl::Span<Place> element, Emit&) {
    const auto n = static_cast<Place>(DecimalOf(line));
    const std::array<Place, 4> factor = {1, n, n % 2, 1};
    Combine(element, factor);
  }
  void Combine(absl::Span<Place> a, absl::Span<const Place> b) const {
    if (a.size() < 4) {  // of a part: what it can
      for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
      return;
    }
    const std::array<Place, 4> product = {
        (a[0] * b[0] + a[1] * b[2]) % 10'007, (a[0] * b[1] + a[1] * b[3]) % 10'007,
        (a[2] * b[0] + a[3] * b[2]) % 10'007, (a[2] * b[1] + a[3] * b[3]) % 10'007};
    std::copy(product.begin(), product.end(), a.begin());
  }
  void Format(std::int64_t, const Place& value, std::string& out) const {
    out += std::to_string(value) + "\n";
  }
};

template <typename Job>
std::string CodeOf(const Job& job, const std::string& lines, bool check = true,
                   std::string* message = nullptr) {
  const ScratchFile file(lines);
  RecordingContext context(1);
  context.check_operation = check;
  const absl::Status status = MapWith(*MakeVectorProgram(job), file, context);
  if (status.ok()) return "";
  if (message != nullptr) *message = std::string(status.message());
  return StepErrorOf(status) ? StepErrorOf(status)->code : status.ToString();
}

TEST(VectorOperationCheck, HonestJobsPass) {
  EXPECT_EQ(CodeOf(SumByPlace(), "1\n22\n333\n4\n"), "");
  EXPECT_EQ(CodeOf(SumByPlace(), "0.1\n0.2\n0.3\n1e17\n-1e17\n0.7\n"), "")
      << "rounding is no difference";
  EXPECT_EQ(CodeOf(SumByPlace(), "nan\n1\ninf\n-inf\n1e308\n1e308\n-1e308\n"), "");
  EXPECT_EQ(CodeOf(KeepLaterInOrder(), "1\n2\n3\n"), "") << "associative, and declares no more";
  EXPECT_EQ(CodeOf(ProductInOrder<false, true>(), "3\n4\n5\n6\n"), "");
}

TEST(VectorOperationCheck, AnOrderThatShowsIsNamedWithPlaceAndBothResults) {
  std::string message;
  EXPECT_EQ(CodeOf(KeepLater(), "1\n2\n3\n", true, &message), step_error::kNotCommutative);
  EXPECT_THAT(message, HasSubstr("at place 1 two partial results combine to '1 2.000000' in the "
                                 "order of the input and to '1 1.000000' in the other"));
  EXPECT_EQ((CodeOf(ProductInOrder<true, true>(), "3\n4\n5\n6\n")), step_error::kNotCommutative);
}

TEST(VectorOperationCheck, AGroupingThatShowsIsNamed) {
  std::string message;
  EXPECT_EQ(CodeOf(Mean(), "1\n2\n4\n", true, &message), step_error::kNotAssociative);
  EXPECT_THAT(message, HasSubstr("at place 1 three partial results combine to '1 2.750000' from "
                                 "the left and to '1 2.000000' from the right"));
}

TEST(VectorOperationCheck, PartsThatCombineOtherwiseAreNamed) {
  EXPECT_EQ((CodeOf(ProductInOrder<false, false>(), "3\n4\n5\n6\n")), step_error::kDoesNotSplit);
}

TEST(VectorOperationCheck, ANeutralThatIsNoneIsNamed) {
  std::string message;
  EXPECT_EQ(CodeOf(SumFromOne(), "1\n2\n4\n", true, &message), step_error::kNotNeutral);
  EXPECT_THAT(message, HasSubstr("at place 0 it makes '0 2.000000' of '0 1.000000'"));
}

TEST(VectorOperationCheck, WhatIsTooFewTooLargeOrUnwantedIsNotTried) {
  EXPECT_EQ(CodeOf(KeepLater(), "1\n2\n"), "") << "two records make no three partial results";
  EXPECT_EQ(CodeOf(KeepLater(), ""), "");
  EXPECT_EQ(CodeOf(KeepLater(), "1\n2\n3\n", false), "");
  KeepLater large;
  large.places = (std::int64_t{8} << 20) / 8 + 1;
  EXPECT_EQ(CodeOf(large, "1\n2\n3\n"), "");
  const ScratchFile file("1\n2\n3\n");
  RecordingContext narrow(1, 9 * 2 * 3 * 8 - 1);
  EXPECT_EQ(MapWith(*MakeVectorProgram(KeepLater()), file, narrow), absl::OkStatus());
  RecordingContext wide(1, 9 * 2 * 3 * 8);
  EXPECT_NE(MapWith(*MakeVectorProgram(KeepLater()), file, wide), absl::OkStatus());
}

}  // namespace
}  // namespace weir
