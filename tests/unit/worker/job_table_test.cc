#include "runtime/worker/job_table.h"

#include <gtest/gtest.h>

namespace weir::worker {
namespace {

v1::Fence FenceOf(const std::string& job, int attempt = 1) {
  v1::Fence fence;
  fence.set_job_id(job);
  fence.set_master_epoch(2);
  fence.set_worker_epoch(7);
  fence.set_plan_epoch(1);
  fence.set_attempt(attempt);
  return fence;
}

class JobTableTest : public testing::Test {
 protected:
  void SetUp() override { table_.Open(7, 2); }
  JobTable table_;
};

TEST_F(JobTableTest, TakesEachAttemptOnce) {
  EXPECT_EQ(*table_.Prepare(FenceOf("j")), Admission::kNew);
  EXPECT_EQ(*table_.Prepare(FenceOf("j")), Admission::kRepeated);
  EXPECT_EQ(*table_.TakeStep(FenceOf("j"), 3), Admission::kNew);
  EXPECT_EQ(*table_.TakeStep(FenceOf("j"), 3), Admission::kRepeated);
  EXPECT_EQ(*table_.TakeStep(FenceOf("j", 2), 3), Admission::kNew);
  EXPECT_EQ(*table_.TakeTransfer(FenceOf("j"), 3), Admission::kNew);
  EXPECT_EQ(*table_.TakeTransfer(FenceOf("j"), 3), Admission::kRepeated);
}

TEST_F(JobTableTest, WhatCouldNotStartMayComeAgain) {
  ASSERT_TRUE(table_.Prepare(FenceOf("j")).ok());
  ASSERT_TRUE(table_.TakeStep(FenceOf("j"), 3).ok());
  table_.ForgetStep(FenceOf("j"), 3);
  EXPECT_EQ(*table_.TakeStep(FenceOf("j"), 3), Admission::kNew);
  ASSERT_TRUE(table_.TakeTransfer(FenceOf("j"), 4).ok());
  table_.ForgetTransfer(FenceOf("j"), 4);
  EXPECT_EQ(*table_.TakeTransfer(FenceOf("j"), 4), Admission::kNew);
}

TEST_F(JobTableTest, RatesAreForAJobThatIsHeldAndTakeNothing) {
  EXPECT_TRUE(absl::IsNotFound(table_.CheckRates(FenceOf("j"))));
  ASSERT_TRUE(table_.Prepare(FenceOf("j")).ok());
  EXPECT_TRUE(table_.CheckRates(FenceOf("j", 0)).ok()) << "they are of several attempts";
  EXPECT_EQ(*table_.TakeTransfer(FenceOf("j"), 0), Admission::kNew);
  table_.MarkReleasing("j");
  EXPECT_TRUE(absl::IsAborted(table_.CheckRates(FenceOf("j"))));
  table_.Close();
  EXPECT_TRUE(absl::IsUnavailable(table_.CheckRates(FenceOf("j"))));
}

TEST_F(JobTableTest, RefusesEveryStaleEpoch) {
  ASSERT_TRUE(table_.Prepare(FenceOf("j")).ok());
  v1::Fence old_master = FenceOf("j");
  old_master.set_master_epoch(1);
  v1::Fence old_worker = FenceOf("j");
  old_worker.set_worker_epoch(6);
  v1::Fence old_plan = FenceOf("j");
  old_plan.set_plan_epoch(0);
  for (const v1::Fence& stale : {old_master, old_worker, old_plan}) {
    EXPECT_TRUE(absl::IsAborted(table_.TakeStep(stale, 1).status()));
    EXPECT_TRUE(absl::IsAborted(table_.TakeTransfer(stale, 1).status()));
    EXPECT_TRUE(absl::IsAborted(table_.Prepare(stale).status()));
    EXPECT_TRUE(absl::IsAborted(table_.CheckRates(stale)));
  }
  EXPECT_TRUE(absl::IsAborted(table_.BeginRelease(old_master).status()));
  EXPECT_TRUE(absl::IsAborted(table_.BeginRelease(old_worker).status()));
}

TEST_F(JobTableTest, AHigherPlanEpochTakesOverWhatNothingWasOrderedOf) {
  ASSERT_TRUE(table_.Prepare(FenceOf("j")).ok());
  v1::Fence next = FenceOf("j");
  next.set_plan_epoch(2);
  EXPECT_EQ(*table_.Prepare(next), Admission::kRenewed);
  EXPECT_EQ(*table_.Prepare(next), Admission::kRepeated);
  EXPECT_TRUE(absl::IsAborted(table_.Prepare(FenceOf("j")).status())) << "the old plan is fenced";
  EXPECT_TRUE(absl::IsAborted(table_.TakeStep(FenceOf("j"), 1).status()));
  EXPECT_EQ(*table_.TakeStep(next, 1), Admission::kNew);
}

TEST_F(JobTableTest, AHigherPlanEpochBeginsAnewWhatWasOrderedOf) {
  for (const bool transfer : {false, true}) {
    const std::string id = transfer ? "t" : "s";
    ASSERT_TRUE(table_.Prepare(FenceOf(id)).ok());
    ASSERT_TRUE(
        (transfer ? table_.TakeTransfer(FenceOf(id), 1) : table_.TakeStep(FenceOf(id), 1)).ok());
    v1::Fence next = FenceOf(id);
    next.set_plan_epoch(3);
    EXPECT_EQ(*table_.Prepare(next), Admission::kBegunAnew);
    EXPECT_EQ(*table_.Prepare(next), Admission::kRepeated);
    EXPECT_TRUE(absl::IsAborted(table_.Prepare(FenceOf(id)).status()));
    EXPECT_TRUE(absl::IsAborted(table_.TakeStep(FenceOf(id), 2).status())) << "of the old plan";
    EXPECT_EQ(*table_.TakeStep(next, 1), Admission::kNew) << "the old plan's step 1 is another";
    EXPECT_EQ(*table_.TakeTransfer(next, 1), Admission::kNew);
  }
}

TEST_F(JobTableTest, RefusesWhatMakesNoSense) {
  EXPECT_TRUE(absl::IsInvalidArgument(table_.Prepare(FenceOf("")).status()));
  ASSERT_TRUE(table_.Prepare(FenceOf("j")).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(table_.TakeStep(FenceOf("j", 0), 1).status()));
  EXPECT_TRUE(absl::IsNotFound(table_.TakeStep(FenceOf("k"), 1).status()));
}

TEST_F(JobTableTest, AReleasedJobComesBackUnderAHigherPlanEpoch) {
  const auto release = [this](const v1::Fence& fence) {
    ASSERT_TRUE(table_.BeginRelease(fence).ok());
    table_.EndRelease("j", "words of " + std::to_string(fence.plan_epoch()));
  };
  ASSERT_TRUE(table_.Prepare(FenceOf("j")).ok());
  release(FenceOf("j"));
  v1::Fence next = FenceOf("j");
  next.set_plan_epoch(2);
  EXPECT_EQ(*table_.Prepare(next), Admission::kNew);
  EXPECT_EQ(*table_.TakeStep(next, 1), Admission::kNew);
  EXPECT_TRUE(absl::IsAborted(table_.Prepare(FenceOf("j")).status())) << "a late call";
  EXPECT_TRUE(absl::IsAborted(table_.BeginRelease(FenceOf("j")).status())) << "another one";
  EXPECT_EQ(*table_.TakeStep(next, 2), Admission::kNew) << "it goes on";
  release(next);
  EXPECT_EQ(table_.ReleasedOutput("j"), "words of 2");
  EXPECT_TRUE(absl::IsAborted(table_.Prepare(next).status()));
}

TEST_F(JobTableTest, AReleasedJobDoesNotComeBack) {
  ASSERT_TRUE(table_.Prepare(FenceOf("j")).ok());
  EXPECT_EQ(*table_.BeginRelease(FenceOf("j")), Admission::kNew);
  EXPECT_EQ(*table_.BeginRelease(FenceOf("j")), Admission::kRepeated);
  EXPECT_TRUE(absl::IsAborted(table_.TakeStep(FenceOf("j"), 1).status()));
  EXPECT_TRUE(absl::IsUnavailable(table_.Prepare(FenceOf("j")).status()));
  table_.EndRelease("j", "last words");
  EXPECT_EQ(table_.num_held(), 0u);
  EXPECT_TRUE(absl::IsAborted(table_.Prepare(FenceOf("j")).status()));
  EXPECT_TRUE(absl::IsNotFound(table_.BeginRelease(FenceOf("j")).status()));
  EXPECT_EQ(table_.ReleasedOutput("j"), "last words");
}

TEST_F(JobTableTest, ANewRegistrationStartsAfresh) {
  ASSERT_TRUE(table_.Prepare(FenceOf("a")).ok());
  ASSERT_TRUE(table_.Prepare(FenceOf("b")).ok());
  ASSERT_TRUE(table_.BeginRelease(FenceOf("a")).ok());
  table_.EndRelease("a", "");
  table_.Close();
  EXPECT_TRUE(absl::IsUnavailable(table_.Prepare(FenceOf("c")).status()));
  table_.MarkReleasing("b");
  table_.Open(8, 3);
  v1::Fence fence = FenceOf("a");
  fence.set_worker_epoch(8);
  fence.set_master_epoch(3);
  EXPECT_EQ(*table_.Prepare(fence), Admission::kNew) << "a later epoch may try the job again";
  fence.set_job_id("b");
  EXPECT_TRUE(absl::IsUnavailable(table_.Prepare(fence).status())) << "its old life still ends";
  table_.EndRelease("b", "");
  EXPECT_EQ(*table_.Prepare(fence), Admission::kNew);
}

TEST_F(JobTableTest, RemembersALimitedNumberOfReleasedJobs) {
  for (std::size_t i = 0; i <= JobTable::kReleasedMax; ++i) {
    const std::string id = "j" + std::to_string(i);
    ASSERT_TRUE(table_.Prepare(FenceOf(id)).ok());
    ASSERT_TRUE(table_.BeginRelease(FenceOf(id)).ok());
    table_.EndRelease(id, id);
  }
  EXPECT_FALSE(table_.ReleasedOutput("j0"));
  EXPECT_EQ(table_.ReleasedOutput("j1"), "j1");
}

}  // namespace
}  // namespace weir::worker
