#include "runtime/task/step_activity.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "jobs/api/bad_record.h"

namespace weir::task {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(StepActivity, CountersOfSlotsStayAtTheMostThatTheyHold) {
  StepActivity activity(/*skip_bad=*/1);
  for (int slot = 0; slot < 2; ++slot) {
    activity.AddCounter("up", kMost);
    activity.AddCounter("down", -kMost);
  }
  activity.AddCounter("lines", 3);
  activity.AddCounter("lines", 4);
  const auto counters = activity.counters();
  EXPECT_EQ(counters.at("up"), kMost);
  EXPECT_EQ(counters.at("down"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(counters.at("lines"), 7);
}

TEST(StepActivity, ARecordThatIsLeftOutWrapsNoCounterOfItsName) {
  StepActivity activity(/*skip_bad=*/1);
  activity.AddCounter(kBadRecords, kMost);
  EXPECT_TRUE(activity.SkipBad(BadRecord{}));
  EXPECT_EQ(activity.counters().at(std::string(kBadRecords)), kMost);
}

}  // namespace
}  // namespace weir::task
