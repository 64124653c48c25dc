#include "jobs/engine/vector_program.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "gmock/gmock.h"
#include "jobs/api/step_error.h"
#include "jobs/testing/in_process_job.h"
#include "tests/unit/jobs/random_tree.h"

namespace weir {
namespace {

using testing::EvenCut;
using ::testing::HasSubstr;
using testing::Joined;
using testing::MapOf;
using testing::MemoryRun;
using testing::MemorySource;
using testing::RecordingContext;
using testing::ScratchFile;

std::int64_t Number(std::string_view text) {
  std::int64_t number = 0;
  return absl::SimpleAtoi(std::string(text), &number) ? number : -1;
}

// Lines with a number: how often each number modulo `places` was there.
struct Histogram {
  using Reader = TextLines;
  using Place = std::int64_t;
  static constexpr bool kCommutative = true;
  static constexpr std::array<std::string_view, 1> kCounters = {"lines"};
  std::int64_t places;

  std::int64_t Places() const { return places; }
  template <typename Emit>
  void Map(std::string_view line, absl::Span<Place> element, Emit& emit) {
    emit.Increment(0);
    const std::int64_t number = Number(line);
    if (number < 0) return emit.Reject(line, "no number");
    ++element[static_cast<std::size_t>(number % places)];
  }
  void Combine(Place& into, const Place& from) const { into += from; }
  void Format(std::int64_t place, const Place& value, std::string& out) const {
    out += std::to_string(place) + " " + std::to_string(value) + "\n";
  }
};

// Of each place the first and the last line that named it: the order of operands shows, and the
// whole-slice form of Combine.
struct FirstAndLast {
  using Reader = TextLines;
  struct Place {
    std::int64_t first = -1;
    std::int64_t last = -1;
  };
  std::int64_t places;

  std::int64_t Places() const { return places; }
  template <typename Emit>
  void Map(std::string_view line, absl::Span<Place> element, Emit&) {
    const std::int64_t number = Number(line);
    Combine(element.subspan(static_cast<std::size_t>(number % places), 1), {{number, number}});
  }
  void Combine(absl::Span<Place> into, absl::Span<const Place> from) const {
    for (std::size_t i = 0; i < into.size(); ++i) {
      if (from[i].first < 0) continue;
      if (into[i].first < 0) into[i].first = from[i].first;
      into[i].last = from[i].last;
    }
  }
  void FormatAll(absl::Span<const Place> values, std::string& out) const {
    for (const Place& value : values) {
      out += std::to_string(value.first) + "-" + std::to_string(value.last) + "\n";
    }
  }
};

// A product of 2 x 2 matrices modulo a prime: associative, not commutative, and only whole.
struct Product {
  using Reader = TextLines;
  using Place = std::int64_t;
  static constexpr bool kSplits = false;
  static constexpr std::int64_t kPrime = 1'000'003;

  std::int64_t Places() const { return 4; }
  Place Neutral(std::int64_t place) const { return place == 0 || place == 3 ? 1 : 0; }
  template <typename Emit>
  void Map(std::string_view line, absl::Span<Place> element, Emit&) {
    const std::int64_t n = Number(line);
    const std::array<Place, 4> factor = {n % 7, 1 + n % 3, n % 5, 2 + n};
    Combine(element, factor);
  }
  void Combine(absl::Span<Place> a, absl::Span<const Place> b) const {
    const std::array<Place, 4> product = {
        (a[0] * b[0] + a[1] * b[2]) % kPrime, (a[0] * b[1] + a[1] * b[3]) % kPrime,
        (a[2] * b[0] + a[3] * b[2]) % kPrime, (a[2] * b[1] + a[3] * b[3]) % kPrime};
    std::copy(product.begin(), product.end(), a.begin());
  }
  void Format(std::int64_t place, const Place& value, std::string& out) const {
    out += std::to_string(place) + " " + std::to_string(value) + "\n";
  }
};

// Sums of doubles, and the sign of zero.
struct Sum {
  using Reader = TextLines;
  using Place = double;
  std::int64_t Places() const { return 2; }
  template <typename Emit>
  void Map(std::string_view line, absl::Span<Place> element, Emit&) {
    double value = 0;
    if (line == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else {
      EXPECT_TRUE(absl::SimpleAtod(std::string(line), &value));
    }
    element[0] = value;
    element[1] += value;
  }
  void Combine(Place& into, const Place& from) const { into += from; }
  void Format(std::int64_t, const Place& value, std::string& out) const {
    out += std::isnan(value)
               ? "nan\n"
               : (std::signbit(value) ? "-" : "+") + std::to_string(std::abs(value)) + "\n";
  }
};

std::vector<std::int64_t> Numbers(int count) {
  std::vector<std::int64_t> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back((i * 7919 + i * i) % 10'007);
  return numbers;
}

std::string Lines(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += std::to_string(number) + "\n";
  return text;
}

template <typename Job>
void VectorHoldsForAnyCut(const Job& job, bool splits) {
  testing::HoldsForAnyCut(*MakeVectorProgram(job), Lines(Numbers(*rc::gen::inRange(0, 300))),
                          splits);
}

RC_GTEST_PROP(VectorProgram, AnyTreeOfACommutativeJobIsTheSequentialFold, ()) {
  VectorHoldsForAnyCut(Histogram{*rc::gen::inRange<std::int64_t>(1, 100)}, true);
}

RC_GTEST_PROP(VectorProgram, AnyTreeKeepsTheOrderOfTheInput, ()) {
  VectorHoldsForAnyCut(FirstAndLast{*rc::gen::inRange<std::int64_t>(1, 100)}, true);
}

RC_GTEST_PROP(VectorProgram, AnyTreeOfMatricesIsTheirProductInOrder, ()) {
  VectorHoldsForAnyCut(Product{}, false);
}

TEST(VectorProgram, VectorsOfManyBlocksAreFoldedPlaceByPlace) {
  const std::vector<std::int64_t> numbers = Numbers(5000);
  const ScratchFile file(Lines(numbers));
  const Histogram job{90'001};  // three blocks
  std::vector<std::int64_t> expected(90'001);
  for (const std::int64_t number : numbers) ++expected[static_cast<std::size_t>(number)];
  std::string text;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    text += std::to_string(i) + " " + std::to_string(expected[i]) + "\n";
  }
  const auto program = MakeVectorProgram(job);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto parts =
        testing::RunAlongRandomTree(*program, EvenCut({file.path()}, 5, 1, 2), 2, seed);
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_EQ(Joined(*parts), text);
  }
}

TEST(VectorProgram, MappersWithoutRecordsChangeNothingNotEvenTheSignOfZero) {
  const ScratchFile file("-0.0\n");
  const auto program = MakeVectorProgram(Sum());
  testing::JobCut cut = EvenCut({file.path()}, 1, 1, 2);
  cut.mappers.insert(cut.mappers.begin(), std::vector<InputRange>());
  cut.mappers.emplace_back();
  const auto parts = testing::RunJob(*program, cut);
  ASSERT_TRUE(parts.ok()) << parts.status();
  // The first place was set to -0.0, the second is 0.0 + -0.0.
  EXPECT_EQ(Joined(*parts), "-0.000000\n+0.000000\n");
}

TEST(VectorProgram, WithoutAnyRecordAllPlacesAreNeutral) {
  const ScratchFile file("");
  testing::JobCut cut = EvenCut({file.path()}, 3, 1, 2);
  EXPECT_EQ(Joined(*testing::RunJob(*MakeVectorProgram(Histogram{3}), cut)), "0 0\n1 0\n2 0\n");
  EXPECT_EQ(Joined(*testing::RunJob(*MakeVectorProgram(Product()), cut)), "0 1\n1 0\n2 0\n3 1\n");
  EXPECT_EQ(Joined(*testing::RunJob(*MakeVectorProgram(FirstAndLast{2}), cut)), "-1--1\n-1--1\n");
}

TEST(VectorProgram, NaNGoesThroughAsArithmeticSays) {
  const ScratchFile file("1\nnan\n2\n");
  const auto program = MakeVectorProgram(Sum());
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const auto parts =
        testing::RunAlongRandomTree(*program, EvenCut({file.path()}, 3, 1, 1), 1, seed);
    ASSERT_TRUE(parts.ok()) << parts.status();
    EXPECT_EQ(Joined(*parts), "nan\nnan\n");
  }
}

TEST(VectorProgram, CountersAndRejectedRecordsAreThoseOfOtherJobs) {
  const ScratchFile file("1\nx\n2\n");
  MemoryRun run;
  RecordingContext context(1);
  const auto program = MakeVectorProgram(Histogram{3});
  const auto rejected = program->Map({{file.range()}, {1.0}}, run, context);
  ASSERT_TRUE(BadRecordOf(rejected.status()).has_value()) << rejected.status();
  EXPECT_EQ(BadRecordOf(rejected.status())->byte_offset, 2);
  RecordingContext lenient(1);
  lenient.skip_bad = 1;
  MemoryRun second;
  const auto totals = program->Map({{file.range()}, {1.0}}, second, lenient);
  ASSERT_TRUE(totals.ok()) << totals.status();
  EXPECT_EQ(totals->input_records, 3);
  EXPECT_EQ(totals->output_records, 3);
  EXPECT_EQ(lenient.counters["lines"], 3);
}

TEST(VectorProgram, VectorsOfAnotherLengthAreNamed) {
  const ScratchFile file("1\n2\n");
  const MemoryRun eight = MapOf(*MakeVectorProgram(Histogram{8}), file);
  for (const bool reduce : {false, true}) {
    const auto program = MakeVectorProgram(Histogram{9});
    const MemoryRun nine = MapOf(*program, file);
    std::vector<std::unique_ptr<RunSource>> inputs;
    inputs.push_back(std::make_unique<MemorySource>(nine.sections().at(0)));
    inputs.push_back(std::make_unique<MemorySource>(eight.sections().at(0)));
    RecordingContext context(1);
    absl::Status status;
    if (reduce) {
      testing::MemoryPart part;
      ReduceOrder order;
      order.inputs = std::move(inputs);
      status = program->ReduceToPart(std::move(order), part, context).status();
    } else {
      MemoryRun run;
      CombineOrder order;
      order.inputs = std::move(inputs);
      order.consumer_key_end = {1.0};
      status = program->Combine(std::move(order), run, context).status();
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("an element of 8 places, expected 9"));
  }
}

TEST(VectorProgram, PlacesThatNeverCameAreNamedByTheReducer) {
  const ScratchFile file("1\n2\n");
  const auto program = MakeVectorProgram(Histogram{9});
  MemoryRun run;
  RecordingContext context(1);
  ASSERT_TRUE(program->Map({{file.range()}, {1 / 3.0, 2 / 3.0, 1.0}}, run, context).ok());
  ReduceOrder order;
  order.inputs.push_back(std::make_unique<MemorySource>(run.sections().at(0)));
  order.inputs.push_back(std::make_unique<MemorySource>(run.sections().at(2)));
  testing::MemoryPart part;
  const auto totals = program->ReduceToPart(std::move(order), part, context);
  EXPECT_EQ(totals.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(totals.status().message()), HasSubstr("places 3 to 5"));
}

TEST(VectorProgram, WhatOnlyCombinesWholeIsNotCut) {
  const ScratchFile file("1\n2\n");
  const auto program = MakeVectorProgram(Product());
  MemoryRun run;
  RecordingContext context(1);
  const auto cut = program->Map({{file.range()}, {0.5, 1.0}}, run, context);
  EXPECT_EQ(cut.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(cut.status().message()), HasSubstr("one reducer"));

  // What another version of the job cut all the same.
  MemoryRun half;
  VectorWriter writer(half, {4, 8}, {1.0});
  const std::array<std::int64_t, 2> values = {1, 2};
  ASSERT_TRUE(writer.Add({2, 4, reinterpret_cast<const char*>(values.data())}).ok());
  ASSERT_TRUE(writer.Finish().ok());
  CombineOrder order;
  order.inputs.push_back(std::make_unique<MemorySource>(half.sections().at(0)));
  order.consumer_key_end = {1.0};
  MemoryRun combined;
  EXPECT_EQ(program->Combine(std::move(order), combined, context).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST(VectorProgram, LimitsAreNamed) {
  const ScratchFile file("1\n");
  MemoryRun run;
  RecordingContext tight(2, 1000);
  const auto large = MakeVectorProgram(Histogram{100})->Map({{file.range()}, {1.0}}, run, tight);
  ASSERT_TRUE(StepErrorOf(large.status()).has_value()) << large.status();
  EXPECT_EQ(StepErrorOf(large.status())->code, step_error::kOutOfMemory);
  RecordingContext context(1);
  const auto none = MakeVectorProgram(Histogram{0})->Map({{file.range()}, {1.0}}, run, context);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
  const auto huge = MakeVectorProgram(Histogram{std::int64_t{1} << 60})
                        ->Map({{file.range()}, {1.0}}, run, context);
  EXPECT_EQ(huge.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(VectorProgram, ElementsSayWhatTheClassesSay) {
  const ElementInfo histogram = VectorElement(Histogram{7});
  EXPECT_EQ(histogram.kind, ElementKind::kVector);
  EXPECT_EQ(histogram.places, 7);
  EXPECT_EQ(histogram.place_bytes, 8);
  EXPECT_TRUE(histogram.commutative);
  EXPECT_TRUE(histogram.splits);
  EXPECT_FALSE(VectorElement(Product()).commutative);
  EXPECT_FALSE(VectorElement(Product()).splits);
  EXPECT_EQ(MakeVectorProgram(Histogram{7})->num_places(1), 7);
}

}  // namespace
}  // namespace weir
