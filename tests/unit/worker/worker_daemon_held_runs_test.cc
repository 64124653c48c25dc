// What a worker keeps of a job when its lease ends, and how a later plan goes on with it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/worker/worker_daemon_fixture.h"

namespace weir::worker {
namespace {

using testing::IsEmpty;

class HeldRunsTest : public WorkerDaemonTest {
 protected:
  /// A job with one run and what others sent, whose master then goes away.
  void LoseLeaseWithARun() {
    StartRegistered("good");
    ASSERT_TRUE(Prepare().ok());
    ASSERT_TRUE(StartStep(MapStep(3)).ok());
    ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 1; }));
    std::ofstream(JobFile("received/8.1.0")) << "half a section";
    std::ofstream(JobFile("runs/4.1.run")) << "half a run";
    master_.down = true;
    ASSERT_TRUE(Until([&] { return !daemon_->registered(); }));
    ASSERT_TRUE(Until([&] { return !std::filesystem::exists(JobFile("runs/4.1.run")); }));
  }
  void ComeBack() {
    const std::size_t before = master_.registrations.size();
    master_.down = false;
    ASSERT_TRUE(Until([&] { return daemon_->registered(); }));
    ASSERT_GT(master_.registrations.size(), before);
  }
  absl::Status PrepareKept(std::int64_t of_plan) {
    v1::PrepareJobRequest request;
    *request.mutable_fence() = FenceNow();
    request.mutable_spec()->set_job("wordcount");
    request.set_staging_dir(staging_);
    request.set_job_token(77);
    request.mutable_kept()->set_master_epoch(2);
    request.mutable_kept()->set_plan_epoch(of_plan);
    return Order<rpc::PrepareJob>(request).status();
  }
};

TEST_F(HeldRunsTest, AreToldAndGoneOnWith) {
  LoseLeaseWithARun();
  EXPECT_TRUE(std::filesystem::exists(JobFile("runs/3.1.run")));
  EXPECT_FALSE(std::filesystem::exists(JobFile("received")));
  EXPECT_FALSE(runs_.Find({"j", 99, 2, 1}, "3.1").ok()) << "nobody may read it now";
  ComeBack();
  const v1::RegisterRequest& told = master_.registrations.back();
  ASSERT_EQ(told.held_size(), 1);
  EXPECT_EQ(told.held(0).job_id(), "j");
  EXPECT_EQ(told.held(0).master_epoch(), 2);
  EXPECT_EQ(told.held(0).plan_epoch(), 1);
  ASSERT_EQ(told.held(0).runs_size(), 1);
  EXPECT_EQ(told.held(0).runs(0).attempt(), 1);
  EXPECT_EQ(told.held(0).runs(0).result().run().SerializeAsString(),
            master_.step_reports[0].result().run().SerializeAsString());

  plan_epoch_ = 2;
  ASSERT_TRUE(PrepareKept(1).ok());
  EXPECT_TRUE(PrepareKept(1).ok()) << "twice is no error";
  const auto run = runs_.Find({"j", 77, 2, 2}, "3.1");
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->path, JobFile("runs/3.1.run"));
  EXPECT_FALSE(runs_.Find({"j", 99, 2, 1}, "3.1").ok()) << "the fence of before";
  ASSERT_TRUE(StartStep(MapStep(4)).ok());
  ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 2; }));
  EXPECT_FALSE(master_.step_reports[1].result().has_error());
  EXPECT_TRUE(Release().ok());
  EXPECT_FALSE(std::filesystem::exists(JobFile("runs/3.1.run")));
}

TEST_F(HeldRunsTest, StayWhereTheNextPlanFollowsAtOnce) {
  LoseLeaseWithARun();
  ComeBack();
  plan_epoch_ = 2;
  ASSERT_TRUE(PrepareKept(1).ok());
  plan_epoch_ = 3;
  ASSERT_TRUE(PrepareKept(1).ok());
  EXPECT_TRUE(runs_.Find({"j", 77, 2, 3}, "3.1").ok());
  plan_epoch_ = 4;
  ASSERT_TRUE(Prepare().ok()) << "and one that begins with nothing";
  EXPECT_FALSE(std::filesystem::exists(JobFile("runs/3.1.run")));
  EXPECT_TRUE(Release().ok());
}

TEST_F(HeldRunsTest, GoWhereAPlanDoesNotAskForThem) {
  LoseLeaseWithARun();
  ComeBack();
  plan_epoch_ = 2;
  ASSERT_TRUE(Prepare().ok());
  EXPECT_FALSE(std::filesystem::exists(JobFile("runs/3.1.run")));
  ASSERT_TRUE(StartStep(MapStep(3)).ok()) << "the name is free";
  ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 2; }));
  EXPECT_FALSE(master_.step_reports[1].result().has_error());
  EXPECT_TRUE(Release().ok());
}

TEST_F(HeldRunsTest, AreRefusedToAPlanThatMeansOthers) {
  LoseLeaseWithARun();
  ComeBack();
  plan_epoch_ = 3;
  EXPECT_FALSE(PrepareKept(2).ok());
  plan_epoch_ = 4;
  EXPECT_TRUE(Prepare().ok()) << "which then begins with nothing";
  EXPECT_TRUE(Release().ok());
}

TEST_F(HeldRunsTest, AreMissedWhereTheyAreGone) {
  LoseLeaseWithARun();
  std::filesystem::remove(JobFile("runs/3.1.run"));
  ComeBack();
  plan_epoch_ = 2;
  EXPECT_FALSE(PrepareKept(1).ok());
}

TEST_F(HeldRunsTest, GoWithAJobThatNobodyKnows) {
  LoseLeaseWithARun();
  ComeBack();
  ASSERT_TRUE(Until([&] { return !master_.heartbeats.empty(); }));
  ASSERT_TRUE(Until([&] {
    const auto& held = master_.heartbeats.back().held_jobs();
    return std::find(held.begin(), held.end(), "j") != held.end();
  }));
  master_.ended_jobs = {"j"};
  EXPECT_TRUE(Until([&] { return master_.heartbeats.back().held_jobs().empty(); }));
  EXPECT_TRUE(Until([&] { return !std::filesystem::exists(JobFile("")); }));
}

TEST_F(HeldRunsTest, GoWithTheirWorker) {
  LoseLeaseWithARun();
  Stop();
  EXPECT_THAT(FilesIn(work_dir_.path()), IsEmpty());
}

}  // namespace
}  // namespace weir::worker
