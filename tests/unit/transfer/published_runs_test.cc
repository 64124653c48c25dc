#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/transfer/run_catalog.h"

namespace weir::transfer {
namespace {

constexpr char kHeldJob[] = "j-20260101-000000-abcd";

JobKey Key() { return {kHeldJob, 7, 3, 2}; }

class PublishedRunsTest : public testing::Test {
 protected:
  void SetUp() override {
    runs_.AddJob(Key());
    ASSERT_TRUE(runs_.Publish(kHeldJob, "1.1", {"/runs/1.1.run", 100}).ok());
  }
  PublishedRuns runs_;
};

TEST_F(PublishedRunsTest, GivesTheFileOfAPublishedRun) {
  const absl::StatusOr<RunFile> file = runs_.Find(Key(), "1.1");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->path, "/runs/1.1.run");
  EXPECT_EQ(file->bytes, 100);
}

TEST_F(PublishedRunsTest, RefusesByNameWhatDoesNotMatch) {
  JobKey key = Key();
  key.job_id = "other";
  EXPECT_EQ(runs_.Find(key, "1.1").status().code(), absl::StatusCode::kNotFound);
  key = Key();
  key.token = 8;
  EXPECT_EQ(runs_.Find(key, "1.1").status().code(), absl::StatusCode::kPermissionDenied);
  key = Key();
  key.plan_epoch = 1;
  EXPECT_EQ(runs_.Find(key, "1.1").status().code(), absl::StatusCode::kAborted);
  key = Key();
  key.master_epoch = 4;
  EXPECT_EQ(runs_.Find(key, "1.1").status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(runs_.Find(Key(), "1.2").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(PublishedRunsTest, ForgetsRunsWithTheirJob) {
  runs_.RemoveJob(kHeldJob);
  EXPECT_EQ(runs_.Find(Key(), "1.1").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(runs_.Publish(kHeldJob, "1.1", {"/x", 1}).code(), absl::StatusCode::kNotFound);
}

TEST_F(PublishedRunsTest, AWithdrawnRunIsRefused) {
  ASSERT_TRUE(runs_.Find(Key(), "1.1").ok());
  runs_.Withdraw(kHeldJob, "9.9");
  runs_.Withdraw("other", "1.1");
  ASSERT_TRUE(runs_.Find(Key(), "1.1").ok());
  runs_.Withdraw(kHeldJob, "1.1");
  EXPECT_EQ(runs_.Find(Key(), "1.1").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(PublishedRunsTest, ANewKeyDropsTheRunsOfTheOldOne) {
  JobKey key = Key();
  key.plan_epoch = 3;
  runs_.AddJob(key);
  EXPECT_EQ(runs_.Find(key, "1.1").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(runs_.Find(Key(), "1.1").status().code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace weir::transfer
