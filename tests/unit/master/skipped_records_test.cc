#include "runtime/master/conduct/skipped_records.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "runtime/base/job_errors.h"

namespace weir::master {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

v1::StepResult ResultWith(std::int64_t bad_records, int named) {
  v1::StepResult result;
  v1::Counter& counter = *result.add_counters();
  counter.set_name("bad_records");
  counter.set_value(bad_records);
  for (int i = 0; i < named; ++i) {
    v1::SkippedRecord& record = *result.add_skipped();
    record.set_file("/in/a");
    record.set_byte_offset(i);
    record.set_content("x" + std::to_string(i));
    record.set_reason("no number");
  }
  return result;
}

TEST(SkippedRecords, TheJobEndsWithTheFirstTooMany) {
  SkippedRecords skipped(10);
  EXPECT_FALSE(skipped.Add(ResultWith(6, 5), true));
  EXPECT_FALSE(skipped.Add(ResultWith(4, 4), true));
  const auto error = skipped.Add(ResultWith(1, 1), true);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), job_error::kBadRecord);
  EXPECT_EQ(error->file(), "/in/a");
  EXPECT_NE(error->message().find("11 bad records, of which 10"), std::string::npos);
  EXPECT_NE(error->message().find("no number: 'x0'"), std::string::npos);
}

TEST(SkippedRecords, AJobThatTookNothingIsNotDone) {
  SkippedRecords skipped(1000);
  EXPECT_FALSE(skipped.NothingTaken()) << "an empty input is no error";
  EXPECT_FALSE(skipped.Add(ResultWith(6, 5), true));
  const auto error = skipped.NothingTaken();
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), job_error::kBadRecord);
  EXPECT_EQ(error->file(), "/in/a");
  EXPECT_NE(error->message().find("all 6 records were left out"), std::string::npos);
  v1::StepResult taken;
  taken.set_output_records(1);
  EXPECT_FALSE(skipped.Add(taken, false));
  EXPECT_TRUE(skipped.NothingTaken()) << "what a later layer makes of nothing does not count";
  EXPECT_FALSE(skipped.Add(taken, true));
  EXPECT_FALSE(skipped.NothingTaken());
}

TEST(SkippedRecords, AJobThatMadeNothingOfSoundRecordsIsDone) {
  SkippedRecords skipped(1000);
  v1::StepResult filtered = ResultWith(1, 1);
  filtered.set_input_records(500);
  EXPECT_FALSE(skipped.Add(filtered, true));
  EXPECT_FALSE(skipped.NothingTaken()) << "499 were taken, and none of them passed";
  skipped.Forget(filtered.step());
  v1::StepResult all_bad = ResultWith(3, 3);
  all_bad.set_input_records(3);
  EXPECT_FALSE(skipped.Add(all_bad, true));
  EXPECT_TRUE(skipped.NothingTaken());
  skipped.Forget(all_bad.step());
  // Readers of blocks count pairs: these are not the three that were left out.
  v1::StepResult pairs = ResultWith(3, 3);
  pairs.set_input_records(3);
  pairs.set_output_records(2);
  EXPECT_FALSE(skipped.Add(pairs, true));
  EXPECT_FALSE(skipped.NothingTaken());
}

TEST(SkippedRecords, OneStepCountsNoMoreThanItMayLeaveOut) {
  SkippedRecords skipped(10);
  EXPECT_FALSE(skipped.Add(ResultWith(kMost, 5), true)) << "it would have ended itself";
  const auto error = skipped.Add(ResultWith(-7, 1), true);
  ASSERT_TRUE(error.has_value()) << "one is named";
  EXPECT_NE(error->message().find("11 bad records, of which 10"), std::string::npos);
}

TEST(SkippedRecords, SumsBeyondTheMostStayWhatTheyAre) {
  SkippedRecords skipped(kMost);
  for (int step = 0; step < 3; ++step) {
    v1::StepResult result = ResultWith(kMost, 1);
    result.set_step(step);
    result.set_input_records(kMost);
    result.set_output_records(kMost);
    const auto error = skipped.Add(result, true);
    EXPECT_EQ(error.has_value(), step > 0);
  }
  EXPECT_FALSE(skipped.NothingTaken());
  for (const int step : {0, 1}) skipped.Forget(step);
  EXPECT_FALSE(skipped.NothingTaken());
  skipped.Forget(2);
  EXPECT_FALSE(skipped.NothingTaken()) << "nothing is named any more";
}

TEST(SkippedRecords, WhatAStepThatIsDoneAgainLeftOutCountsOnce) {
  SkippedRecords skipped(10);
  EXPECT_FALSE(skipped.Add(ResultWith(8, 3), true));
  skipped.Forget(0);
  EXPECT_TRUE(skipped.named().empty());
  EXPECT_FALSE(skipped.Add(ResultWith(8, 3), true));
  EXPECT_EQ(skipped.named().size(), 3u);
  skipped.Forget(7);  // which left nothing out
  EXPECT_EQ(skipped.named().size(), 3u);
  EXPECT_TRUE(skipped.Add(ResultWith(3, 1), true)) << "11 of 10";
}

TEST(SkippedRecords, NamesTheFirstTen) {
  SkippedRecords skipped(1000);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(skipped.Add(ResultWith(100, 5), true));
  ASSERT_EQ(skipped.named().size(), 10u);
  EXPECT_EQ(skipped.named()[9].content(), "x4");
}

TEST(SkippedRecords, AJobsOwnCounterOfThatNameIsNotMeant) {
  SkippedRecords skipped(0);
  EXPECT_FALSE(skipped.Add(ResultWith(5, 0), true));
}

}  // namespace
}  // namespace weir::master
