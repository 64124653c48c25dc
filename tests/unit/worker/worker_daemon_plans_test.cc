// A job that is planned again while a worker holds it: nothing of the old plan is left.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "tests/unit/worker/worker_daemon_fixture.h"

namespace weir::worker {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

using NextPlanTest = WorkerDaemonTest;

TEST_F(NextPlanTest, BeginsWithNothingOfTheOldOne) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 1; }));
  ASSERT_TRUE(std::filesystem::exists(JobFile("runs/3.1.run")));

  plan_epoch_ = 2;
  ASSERT_TRUE(Prepare().ok());
  EXPECT_TRUE(Prepare().ok()) << "twice is no error";
  EXPECT_FALSE(std::filesystem::exists(JobFile("runs/3.1.run")));
  for (const std::int64_t plan_epoch : {1, 2}) {
    EXPECT_FALSE(runs_.Find({"j", 99, 2, plan_epoch}, "3.1").ok()) << plan_epoch;
  }
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 2; }));
  EXPECT_EQ(master_.step_reports[1].fence().plan_epoch(), 2);
  EXPECT_FALSE(master_.step_reports[1].result().has_error());
  EXPECT_TRUE(runs_.Find({"j", 99, 2, 2}, "3.1").ok());

  plan_epoch_ = 1;
  EXPECT_TRUE(absl::IsAborted(Prepare())) << "late";
  EXPECT_TRUE(absl::IsAborted(StartStep(MapStep(4)))) << "late";
  plan_epoch_ = 2;
  EXPECT_TRUE(Release().ok());
}

TEST_F(NextPlanTest, ForgetsTheRatesOfTheOldOneWhereNothingWasOrdered) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_THAT(server_.cancelled, IsEmpty());
  plan_epoch_ = 2;
  ASSERT_TRUE(Prepare().ok());
  EXPECT_THAT(server_.cancelled, testing::ElementsAre("j"));
  EXPECT_TRUE(Release().ok());
}

TEST_F(NextPlanTest, EndsTheStepAndTheFetchesUnderWay) {
  TaskOptions task;
  task.kill_grace = absl::Milliseconds(200);
  StartRegistered("stubborn", task);
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  ASSERT_TRUE(Grant(Piece(1, 1000, 200)).ok());
  ASSERT_THAT(fetcher_.started, SizeIs(1));
  plan_epoch_ = 2;
  ASSERT_TRUE(Prepare().ok());
  EXPECT_FALSE(fetcher_.started[0].done) << "it was cancelled";
  EXPECT_THAT(master_.step_reports, IsEmpty());
  EXPECT_THAT(master_.transfer_reports, IsEmpty());
  // A transfer of the same number is another one.
  ASSERT_TRUE(Grant(Piece(1, 1000, 200)).ok());
  ASSERT_THAT(fetcher_.started, SizeIs(2));
  EXPECT_EQ(fetcher_.started[1].order.key.plan_epoch, 2);
  EXPECT_TRUE(Release().ok());
}

TEST_F(NextPlanTest, GoesOnWhereATaskHadFailed) {
  StartRegistered("segfault");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  AwaitStepError();
  plan_epoch_ = 2;
  ASSERT_TRUE(Prepare().ok()) << "with a new task";
  EXPECT_TRUE(StartStep(MapStep(4)).ok());
  EXPECT_TRUE(Release().ok());
}

TEST_F(NextPlanTest, MayBeFollowedByAnotherOrByTheReleaseAtOnce) {
  TaskOptions task;
  task.kill_grace = absl::Milliseconds(200);
  StartRegistered("stubborn", task);
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  // Neither of these is awaited: the old plan's task takes its time.
  std::optional<absl::Status> second, third;
  const auto prepare = [&](std::int64_t plan_epoch, std::optional<absl::Status>& answer) {
    plan_epoch_ = plan_epoch;
    v1::PrepareJobRequest request;
    *request.mutable_fence() = FenceNow();
    request.mutable_spec()->set_job("wordcount");
    request.set_staging_dir(staging_);
    request.set_job_token(99);
    daemon_->api().Send<rpc::PrepareJob>(
        request, [&answer](const auto& response) { answer = response.status(); });
  };
  prepare(2, second);
  prepare(3, third);
  ASSERT_TRUE(Until([&] { return third.has_value(); }));
  EXPECT_TRUE(third->ok()) << *third;
  ASSERT_TRUE(second.has_value());
  EXPECT_TRUE(absl::IsAborted(*second)) << *second;
  ASSERT_TRUE(StartStep(MapStep(3)).ok());

  std::optional<absl::Status> fourth;
  prepare(4, fourth);
  EXPECT_TRUE(Release().ok());
  ASSERT_TRUE(fourth.has_value());
  EXPECT_TRUE(absl::IsAborted(*fourth)) << *fourth;
  EXPECT_FALSE(std::filesystem::exists(daemon_->directory() + "/jobs/j"));
  EXPECT_THAT(master_.step_reports, IsEmpty());
}

}  // namespace
}  // namespace weir::worker
