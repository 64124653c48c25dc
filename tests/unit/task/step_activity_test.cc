#include "runtime/task/step_activity.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "jobs/api/bad_record.h"
#include "runtime/rpc/methods.h"

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

TEST(StepActivity, AStepCountsUnderAsManyNamesAsAMasterTakes) {
  StepActivity activity(/*skip_bad=*/1);
  for (std::size_t name = 0; name < kStepCountersMax; ++name) {
    activity.AddCounter(absl::StrCat("key-", name), 1);
  }
  EXPECT_TRUE(activity.SkipBad(BadRecord{}));
  EXPECT_FALSE(activity.too_many_counters());
  for (int name = 0; name < 100; ++name) activity.AddCounter(absl::StrCat("more-", name), 1);
  EXPECT_TRUE(activity.too_many_counters());
  EXPECT_EQ(activity.counters().size(), kStepCountersMax + 1) << "with that of bad records";
  v1::ReportStepRequest report;
  report.mutable_fence()->set_job_id("j-1");
  for (const auto& [name, value] : activity.counters()) {
    report.mutable_result()->add_counters()->set_name(name);
  }
  EXPECT_TRUE(rpc::ReportStep::Check(report).ok()) << rpc::ReportStep::Check(report);
}

TEST(StepActivity, LongNamesOfCountersAreFewer) {
  StepActivity activity;
  activity.AddCounter(std::string(kStepCounterNameBytesMax, 'a'), 1);
  activity.AddCounter("b", 1);
  EXPECT_TRUE(activity.too_many_counters());
  EXPECT_EQ(activity.counters().size(), 1u);
}

}  // namespace
}  // namespace weir::task
