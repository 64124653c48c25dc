// Workers that stay alive and fail a job - by a full disk, by tasks that die - and jobs that fail
// them: the whole master on virtual time.

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class WorkerFaultsTest : public MasterTest {
 protected:
  WorkerFaultsTest() { AddWorkers(3); }
  sim::WorkerFaults& Faults(int worker) {
    return world_->FindWorker("worker-" + std::to_string(worker))->faults();
  }
  std::string Begin() {
    const absl::StatusOr<std::string> id = Submit(Spec());
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  std::set<std::string> WorkersOfPlan(const std::string& job_id) {
    v1::GetPlanRequest get;
    get.set_job_id(job_id);
    std::set<std::string> names;
    master().jobs().Send<rpc::GetPlan>(get, [&names](const auto& response) {
      ASSERT_TRUE(response.ok()) << response.status();
      names = {response->plan().worker_names().begin(), response->plan().worker_names().end()};
    });
    RunFor(absl::Seconds(1));  // it is read from the journal
    return names;
  }
};

TEST_F(WorkerFaultsTest, OneWithAFullDiskIsPlannedAround) {
  const std::string id = Begin();
  Faults(1).disk_full = true;
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id);
  ASSERT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  ASSERT_EQ(status.losses_size(), 1);
  EXPECT_EQ(status.losses(0).worker(), "worker-1");
  EXPECT_THAT(status.losses(0).why(), HasSubstr("No space left"));
  EXPECT_THAT(status.losses(0).step(), HasSubstr("map "));
  EXPECT_EQ(WorkersOfPlan(id), (std::set<std::string>{"worker-0", "worker-2"}));
}

TEST_F(WorkerFaultsTest, OneWithAFullDiskHoldsNothingWhileTheJobGoesOnElsewhere) {
  const std::string id = Begin();
  Faults(1).disk_full = true;
  while (StatusOf(id).losses_size() == 0) RunFor(absl::Milliseconds(10));
  RunFor(absl::Seconds(1));
  EXPECT_EQ(StatusOf(id).state(), v1::JOB_STATE_RUNNING);
  EXPECT_TRUE(world_->FindWorker("worker-1")->HeldJobs().empty());
}

TEST_F(WorkerFaultsTest, WithAllDisksFullAJobEndsWithNumbersWithinHalfAMinute) {
  const std::string id = Begin();
  for (int worker = 0; worker < 3; ++worker) Faults(worker).disk_full = true;
  RunFor(absl::Seconds(30));
  const v1::JobStatus status = StatusOf(id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(status.error().code(), job_error::kDiskFull);
  EXPECT_THAT(status.error().message(),
              AllOf(HasSubstr("worker worker-0 has 1 bytes free"), HasSubstr("worker-1"),
                    HasSubstr("worker-2"), HasSubstr("needs about ")));
  for (int worker = 0; worker < 3; ++worker) {
    EXPECT_TRUE(world_->FindWorker("worker-" + std::to_string(worker))->HeldJobs().empty());
  }
}

TEST_F(WorkerFaultsTest, AWorkerThatIsLostLeavesTheJobToWaitForIt) {
  const std::string id = Begin();
  Faults(0).disk_full = Faults(1).disk_full = true;
  // What one disk tells holds for the other.
  while (StatusOf(id).losses_size() == 0) RunFor(absl::Milliseconds(10));
  const sim::WorkerModel model = world_->FindWorker("worker-2")->model();
  world_->KillWorker("worker-2");
  RunFor(absl::Seconds(10));
  EXPECT_EQ(StatusOf(id).state(), v1::JOB_STATE_PLANNING);
  world_->StartWorker(model);
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
}

TEST_F(WorkerFaultsTest, AFullOutputEndsTheJobWhateverWorkersAreLeft) {
  const std::string id = Begin();
  while (StatusOf(id).state() != v1::JOB_STATE_RUNNING) RunFor(absl::Milliseconds(10));
  world_->storage().SetFull(true);
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id);
  EXPECT_EQ(status.error().code(), job_error::kDiskFull);
  EXPECT_EQ(status.losses_size(), 0);
}

TEST_F(WorkerFaultsTest, OneWhoseTasksDieIsPlannedAround) {
  Faults(1).task_crashes = true;
  const std::string id = Begin();
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id);
  ASSERT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  ASSERT_EQ(status.losses_size(), 1);
  EXPECT_EQ(status.losses(0).worker(), "worker-1");
  EXPECT_THAT(status.losses(0).why(), HasSubstr("SIGSEGV"));
}

TEST_F(WorkerFaultsTest, CodeThatCrashesEndsTheJobNamingItsInputAfterOneMoreTry) {
  for (int worker = 0; worker < 3; ++worker) Faults(worker).task_crashes = true;
  const std::string id = Begin();
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(status.error().code(), job_error::kTaskCrashed);
  EXPECT_GE(status.losses_size(), 1);
  EXPECT_EQ(status.error().file(), "/in/data");
  EXPECT_THAT(status.error().message(),
              AllOf(HasSubstr("of the same input"), HasSubstr("it was given /in/data from byte "),
                    HasSubstr(status.losses(0).worker())));
  EXPECT_NE(status.error().worker(), status.losses(0).worker());
  EXPECT_EQ(status.error().stderr_tail(), "last words of the task\n");
}

}  // namespace
}  // namespace weir::master
