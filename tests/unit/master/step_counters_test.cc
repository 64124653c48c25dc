#include "runtime/master/conduct/step_counters.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"

namespace weir::master {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

v1::StepResult Counted(const std::string& name, std::int64_t value) {
  v1::StepResult result;
  v1::Counter& counter = *result.add_counters();
  counter.set_name(name);
  counter.set_value(value);
  return result;
}

TEST(StepCounters, AddUpOverSteps) {
  StepCounters counters;
  counters.Add(0, Counted("lines", 3));
  counters.Add(1, Counted("lines", 4));
  counters.Add(1, Counted("words", 5));
  EXPECT_EQ(counters.Sums().at("lines"), 7);
  EXPECT_EQ(counters.Sums().at("words"), 5);
  EXPECT_EQ(counters.of_steps().at(1).size(), 2u);
}

TEST(StepCounters, StayAtTheMostAndTheLeast) {
  StepCounters counters;
  for (planner::StepIndex step = 0; step < 4; ++step) {
    counters.Add(step, Counted("up", kMost));
    counters.Add(step, Counted("down", kLeast));
  }
  EXPECT_EQ(counters.Sums().at("up"), kMost);
  EXPECT_EQ(counters.Sums().at("down"), kLeast);
}

TEST(StepCounters, OneThatIsDoneAgainCountsOnceAlsoBeyondTheMost) {
  StepCounters counters;
  counters.Add(0, Counted("up", kMost));
  counters.Add(1, Counted("up", 2));
  counters.Forget(0);
  EXPECT_EQ(counters.Sums().at("up"), 2);
  counters.Add(0, Counted("up", 5));
  EXPECT_EQ(counters.Sums().at("up"), 7);
  counters.Forget(9);
  EXPECT_EQ(counters.Sums().at("up"), 7);
}

TEST(StepCounters, MoreNamesThanAStatusHoldsAreAnErrorAndDoNotCount) {
  StepCounters counters;
  const auto some = [](std::size_t begin, std::size_t end) {
    v1::StepResult result;
    for (std::size_t name = begin; name < end; ++name) {
      v1::Counter& counter = *result.add_counters();
      counter.set_name(absl::StrCat("key-", name));
      counter.set_value(1);
    }
    return result;
  };
  EXPECT_FALSE(counters.Add(0, some(0, StepCounters::kNamesMax)));
  EXPECT_FALSE(counters.Add(1, some(0, StepCounters::kNamesMax))) << "the same names again";
  const std::optional<v1::JobError> error =
      counters.Add(2, some(StepCounters::kNamesMax - 1, StepCounters::kNamesMax + 5000));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), job_error::kUserError);
  EXPECT_EQ(counters.Sums().size(), StepCounters::kNamesMax);
  EXPECT_EQ(counters.of_steps().at(2).size(), 1u) << "of which one is known";
  EXPECT_EQ(counters.Sums().at(absl::StrCat("key-", StepCounters::kNamesMax - 1)), 3);
}

TEST(StepCounters, LongNamesAreFewer) {
  StepCounters counters;
  const std::size_t half = StepCounters::kNameBytesMax / 2;
  EXPECT_FALSE(counters.Add(0, Counted(std::string(half, 'a'), 1)));
  EXPECT_FALSE(counters.Add(1, Counted(std::string(half, 'b'), 1)));
  EXPECT_TRUE(counters.Add(2, Counted("c", 1)));
  EXPECT_EQ(counters.Sums().size(), 2u);
}

}  // namespace
}  // namespace weir::master
