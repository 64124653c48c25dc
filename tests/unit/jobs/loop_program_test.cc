#include "jobs/engine/loop_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jobs/api/readers.h"
#include "jobs/api/step_error.h"
#include "jobs/testing/in_process_job.h"
#include "tests/unit/jobs/loop_runner.h"

namespace weir {
namespace {

using ::testing::HasSubstr;
using testing::LoopPlanFor;
using testing::MemoryRun;
using testing::MemorySource;
using testing::RecordingContext;
using testing::RunLoop;
using testing::ScratchFile;

struct Numbers {
  std::vector<std::uint64_t> values;
  std::int64_t memory_bytes() const { return static_cast<std::int64_t>(values.capacity()) * 8; }
};

// Whole numbers, so that any folding gives the same: place p sums x * (state of p + p + 1).
struct Mixing {
  using Reader = TextLines;
  using Place = std::uint64_t;
  using Resident = Numbers;
  static constexpr std::string_view kMeasure = "mix";
  std::int64_t places = 1;
  std::int64_t state_places = 1;
  std::uint64_t ends_at = 0;  // iteration

  std::int64_t Places() const { return places; }
  std::int64_t StatePlaces() const { return state_places; }
  template <typename Emit>
  void Load(std::string_view line, Numbers& numbers, Emit&) {
    numbers.values.push_back(std::strtoull(std::string(line).c_str(), nullptr, 10));
  }
  void Map(int, const Numbers& numbers, absl::Span<const Place> state,
           absl::Span<Place> element) const {
    for (std::size_t p = 0; p < element.size(); ++p) {
      const std::uint64_t of = state.empty() ? 0 : state[p % state.size()];
      for (const std::uint64_t x : numbers.values) element[p] += x * (of + p + 1);
    }
  }
  void Combine(int, absl::Span<Place> into, absl::Span<const Place> from) const {
    for (std::size_t p = 0; p < into.size(); ++p) into[p] += from[p];
  }
  absl::StatusOr<LoopOutcome> Update(int iteration, absl::Span<const Place> state,
                                     absl::Span<const Place> element,
                                     absl::Span<Place> next) const {
    for (std::size_t p = 0; p < next.size(); ++p) {
      next[p] = element[p % element.size()] + (state.empty() ? 7 : state[p]);
    }
    return LoopOutcome{static_cast<double>(iteration),
                       static_cast<std::uint64_t>(iteration) == ends_at};
  }
  void Format(absl::Span<const Place> state, std::string& out) const {
    for (const Place place : state) out += std::to_string(place) + "\n";
  }
};

// The same, with as many places of a state as of an element, each made of its own alone.
struct MixingRanges : Mixing {
  static constexpr bool kElementWise = true;

  absl::StatusOr<LoopOutcome> Update(int iteration, std::int64_t first_place,
                                     absl::Span<const Place> state, absl::Span<const Place> element,
                                     absl::Span<Place> next) const {
    // Only of the first range it counts.
    if (first_place > 0) iteration = static_cast<int>(ends_at);
    return Mixing::Update(iteration, state, element, next);
  }
  void Format(std::int64_t, absl::Span<const Place> state, std::string& out) const {
    Mixing::Format(state, out);
  }
};

// The same without engine and plan.
std::string ByHand(const Mixing& job, const Numbers& numbers, int last) {
  std::vector<std::uint64_t> state;
  for (int i = 0; i <= last; ++i) {
    std::vector<std::uint64_t> element(static_cast<std::size_t>(job.places), 0);
    job.Map(i, numbers, state, absl::MakeSpan(element));
    std::vector<std::uint64_t> next(static_cast<std::size_t>(job.state_places), 0);
    (void)job.Update(i, state, element, absl::MakeSpan(next));
    state = next;
  }
  std::string text;
  job.Format(state, text);
  return text;
}

RC_GTEST_PROP(LoopProgramProperty, AnyPlanSlotsAndSegmentsGiveTheSequentialResult, ()) {
  Numbers numbers;
  std::string text;
  const int count = *rc::gen::inRange(0, 30);
  for (int i = 0; i < count; ++i) {
    numbers.values.push_back(*rc::gen::inRange<std::uint64_t>(0, 1'000'000));
    text += std::to_string(numbers.values.back()) + "\n";
  }
  Mixing job;
  job.places = *rc::gen::inRange<std::int64_t>(1, 40);
  job.state_places = *rc::gen::inRange<std::int64_t>(1, 60);
  const int iterations = *rc::gen::inRange(0, 4);
  job.ends_at = *rc::gen::inRange<std::uint64_t>(0, 6);
  LoopInfo loop;
  loop.iterations = iterations;
  loop.element_places = job.places;
  loop.state_places = job.state_places;
  loop.commutative = *rc::gen::arbitrary<bool>();
  loop.first_splits = *rc::gen::arbitrary<bool>();
  const ScratchFile file(text);
  const planner::Plan plan =
      LoopPlanFor(loop, static_cast<std::int64_t>(text.size()), *rc::gen::inRange(1, 9));
  const auto result = RunLoop(
      plan, [&] { return MakeLoopProgram(job); }, file.path(), *rc::gen::inRange(1, 4));
  if (!result.ok()) RC_FAIL(std::string(result.status().message()));
  const int last = std::min<int>(iterations, static_cast<int>(job.ends_at));
  RC_ASSERT(static_cast<int>(result->reports.size()) == last + 1);
  RC_ASSERT(result->reports.back().measure == last);
  RC_ASSERT(result->part == ByHand(job, numbers, last));
}

RC_GTEST_PROP(LoopProgramProperty, RangesUpdatedApartGiveTheSequentialResult, ()) {
  Numbers numbers;
  std::string text;
  const int count = *rc::gen::inRange(0, 30);
  for (int i = 0; i < count; ++i) {
    numbers.values.push_back(*rc::gen::inRange<std::uint64_t>(0, 1'000'000));
    text += std::to_string(numbers.values.back()) + "\n";
  }
  MixingRanges job;
  job.places = job.state_places = *rc::gen::inRange<std::int64_t>(1, 40);
  const int iterations = *rc::gen::inRange(0, 4);
  job.ends_at = *rc::gen::inRange<std::uint64_t>(0, 6);
  LoopInfo loop;
  loop.iterations = iterations;
  loop.element_places = loop.state_places = job.places;
  loop.element_wise = MixingRanges::kElementWise;
  const ScratchFile file(text);
  const int workers = *rc::gen::inRange(1, 9);
  const planner::Plan plan = LoopPlanFor(loop, static_cast<std::int64_t>(text.size()), workers);
  RC_CLASSIFY(std::count_if(plan.steps.begin(), plan.steps.end(), [](const auto& step) {
                return step.kind == planner::StepKind::kReduce;
              }) > 1);
  const auto result = RunLoop(
      plan, [&] { return MakeLoopProgram(job); }, file.path(), *rc::gen::inRange(1, 4));
  if (!result.ok()) RC_FAIL(std::string(result.status().message()));
  const int last = std::min<int>(iterations, static_cast<int>(job.ends_at));
  RC_ASSERT(static_cast<int>(result->reports.size()) == last + 1);
  RC_ASSERT(result->reports.back().measure == last);
  RC_ASSERT(result->part == ByHand(job, numbers, last));
}

std::vector<std::unique_ptr<RunSource>> Sources(
    const std::vector<std::vector<std::string>>& sections) {
  std::vector<std::unique_ptr<RunSource>> sources;
  for (const auto& blocks : sections) sources.push_back(std::make_unique<MemorySource>(blocks));
  return sources;
}

// The element of iteration 0 for one consumer.
std::vector<std::string> ElementOf(std::int64_t places) {
  Mixing job;
  job.places = places;
  LoopProgram<Mixing> program(job);
  MemoryRun run;
  RecordingContext context(1);
  EXPECT_TRUE(program.Map({{}, {1.0}}, run, context).ok());
  return run.sections().at(0);
}

TEST(LoopProgramTest, SectionsThatDoNotBelongAreDataLoss) {
  Mixing job;
  job.places = 4;
  LoopProgram<Mixing> program(job);
  RecordingContext context(1);
  MemoryRun run;
  LoopReport report;
  UpdateOrder other{0, Sources({ElementOf(5)}), 1};
  EXPECT_THAT(
      std::string(program.Update(std::move(other), run, context, report).status().message()),
      HasSubstr("an element of 5 places, expected 4"));
  UpdateOrder later{1, Sources({ElementOf(4)}), 1};
  EXPECT_EQ(program.Update(std::move(later), run, context, report).status().code(),
            absl::StatusCode::kDataLoss);
  UpdateOrder nothing{0, {}, 1};
  EXPECT_EQ(program.Update(std::move(nothing), run, context, report).status().code(),
            absl::StatusCode::kDataLoss);
  UpdateOrder damaged{0, Sources({{"short"}}), 1};
  EXPECT_EQ(program.Update(std::move(damaged), run, context, report).status().code(),
            absl::StatusCode::kDataLoss);
}

struct CountsFolds : Mixing {
  int* folds = nullptr;
  void Combine(int iteration, absl::Span<Place> into, absl::Span<const Place> from) const {
    ++*folds;
    Mixing::Combine(iteration, into, from);
  }
};

// Tells how many were folded when it is read.
class AskingSource : public MemorySource {
 public:
  AskingSource(std::vector<std::string> blocks, const int& folds, std::vector<int>& seen)
      : MemorySource(std::move(blocks)), folds_(folds), seen_(seen) {}
  absl::StatusOr<absl::Span<const char>> NextBlock() override {
    if (!std::exchange(begun_, true)) seen_.push_back(folds_);
    return MemorySource::NextBlock();
  }

 private:
  const int& folds_;
  std::vector<int>& seen_;
  bool begun_ = false;
};

// All of them at once would be as many elements as there are workers.
TEST(LoopProgramTest, AnInputIsFoldedBeforeTheNextIsRead) {
  int folds = 0;
  CountsFolds job;
  job.places = 4;
  job.folds = &folds;
  std::vector<int> seen;
  CombineOrder order;
  order.consumer_key_end = {1.0};
  for (int i = 0; i < 5; ++i) {
    order.inputs.push_back(std::make_unique<AskingSource>(ElementOf(4), folds, seen));
  }
  LoopProgram<CountsFolds> program(job);
  RecordingContext context(1);
  MemoryRun run;
  const auto totals = program.Combine(std::move(order), run, context);
  ASSERT_TRUE(totals.ok()) << totals.status();
  EXPECT_EQ(seen, (std::vector<int>{0, 0, 1, 2, 3}));
}

TEST(LoopProgramTest, WhatDoesNotFitIsNamed) {
  Mixing job;
  job.places = 1000;
  LoopProgram<Mixing> program(job);
  RecordingContext context(1, 10'000);
  MemoryRun run;
  CombineOrder order;
  order.consumer_key_end = {1.0};
  order.inputs = Sources({ElementOf(1000), ElementOf(1000)});
  const auto error = StepErrorOf(program.Combine(std::move(order), run, context).status());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, step_error::kOutOfMemory);
  EXPECT_THAT(error->message, HasSubstr("are 16000 bytes, and it may hold 10000"));
}

TEST(LoopProgramTest, AProcessThatDidNotMapHasNothingToMapAgain) {
  LoopProgram<Mixing> program{Mixing()};
  RecordingContext context(1);
  MemoryRun run;
  IterateOrder order{1, {}, {1.0}};
  EXPECT_EQ(program.Iterate(std::move(order), run, context).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace weir
