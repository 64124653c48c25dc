#include "runtime/master/conduct/step_counters.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

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

}  // namespace
}  // namespace weir::master
