// Several jobs on one master, on virtual time.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

class SeveralJobsTest : public MasterTest {
 protected:
  SeveralJobsTest() : MasterTest(4) {
    EXPECT_TRUE(world_->storage().WriteSized("/in/long", 10'000'000'000).ok());
    EXPECT_TRUE(world_->storage().WriteSized("/in/short", 10'000'000).ok());
    AddWorkers(3);
  }
  std::string Submit(const std::string& input, const std::string& output,
                     std::int32_t priority = 0) {
    v1::JobSpec spec = Spec();
    spec.set_inputs(0, input);
    spec.set_output(output);
    spec.set_priority(priority);
    const absl::StatusOr<std::string> id = MasterTest::Submit(spec);
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  v1::JobState StateOf(const std::string& id) { return StatusOf(id).state(); }
  void RunUntilEnded(const std::string& id) {
    for (int s = 0; s < 6000 && StatusOf(id).ended_unix_ms() == 0; ++s) {
      RunFor(absl::Milliseconds(100));
    }
    ASSERT_NE(StatusOf(id).ended_unix_ms(), 0);
  }
  double SecondsOf(const std::string& id) {
    const v1::JobStatus status = StatusOf(id);
    return static_cast<double>(status.ended_unix_ms() - status.submitted_unix_ms()) * 1e-3;
  }
};

TEST_F(SeveralJobsTest, AShortJobEndsWhileALongOneRuns) {
  const std::string alone = Submit("/in/short", "/out/alone");
  RunUntilEnded(alone);
  const std::string running = Submit("/in/long", "/out/long");
  RunFor(absl::Seconds(10));
  ASSERT_EQ(StateOf(running), v1::JOB_STATE_RUNNING);
  const std::string shorter = Submit("/in/short", "/out/short");
  RunUntilEnded(shorter);
  EXPECT_EQ(StateOf(running), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(StateOf(shorter), v1::JOB_STATE_SUCCEEDED);
  EXPECT_LE(SecondsOf(shorter), 3 * SecondsOf(alone));
  RunUntilEnded(running);
  EXPECT_EQ(StateOf(running), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(SeveralJobsTest, APlanSaysWhatElseRuns) {
  const std::string first = Submit("/in/long", "/out/first");
  RunFor(absl::Seconds(5));
  const std::string second = Submit("/in/long", "/out/second");
  RunFor(absl::Seconds(5));
  ASSERT_EQ(StateOf(first), v1::JOB_STATE_RUNNING);
  ASSERT_EQ(StateOf(second), v1::JOB_STATE_RUNNING);
  const v1::JobStatus beside = StatusOf(second);
  EXPECT_TRUE(absl::StrContains(beside.plan_text(), absl::StrCat("Planned beside ", first)))
      << beside.plan_text();
  EXPECT_GT(beside.predicted_makespan_s(), 1.2 * StatusOf(first).predicted_makespan_s());
  RunUntilEnded(first);
  RunUntilEnded(second);
  EXPECT_EQ(StateOf(first), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(StateOf(second), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(SeveralJobsTest, ACancelledJobLeavesTheOthersAlone) {
  const std::string stays = Submit("/in/long", "/out/stays");
  const std::string goes = Submit("/in/long", "/out/goes");
  RunFor(absl::Seconds(5));
  ASSERT_EQ(StateOf(goes), v1::JOB_STATE_RUNNING);
  v1::CancelRequest request;
  request.set_job_id(goes);
  master().jobs().Send<rpc::Cancel>(request,
                                    [](const auto& response) { ASSERT_TRUE(response.ok()); });
  RunUntilEnded(goes);
  EXPECT_EQ(StateOf(goes), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(StateOf(stays), v1::JOB_STATE_RUNNING);
  RunUntilEnded(stays);
  EXPECT_EQ(StateOf(stays), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(StatusOf(stays).error());
}

TEST_F(SeveralJobsTest, TheLossOfAWorkerIsToldToAllJobs) {
  std::vector<std::string> jobs;
  for (int j = 0; j < 3; ++j) jobs.push_back(Submit("/in/long", absl::StrCat("/out/", j)));
  RunFor(absl::Seconds(5));
  for (const std::string& job : jobs) ASSERT_EQ(StateOf(job), v1::JOB_STATE_RUNNING);
  world_->KillWorker("worker-1");
  for (const std::string& job : jobs) RunUntilEnded(job);
  // Each of them goes on without it, or ends and names it; none waits for it.
  for (const std::string& job : jobs) {
    const v1::JobStatus status = StatusOf(job);
    if (status.state() != v1::JOB_STATE_SUCCEEDED) {
      EXPECT_EQ(status.error().code(), job_error::kWorkerLost);
      continue;
    }
    ASSERT_EQ(status.losses_size(), 1) << job;
    EXPECT_EQ(status.losses(0).worker(), "worker-1");
  }
}

TEST_F(SeveralJobsTest, TheQueueGoesByPriorityAndSaysEachJobsPlace) {
  std::vector<std::string> running;
  for (int j = 0; j < 3; ++j) running.push_back(Submit("/in/long", absl::StrCat("/out/", j)));
  const std::string first = Submit("/in/long", "/out/first");
  const std::string second = Submit("/in/long", "/out/second");
  const std::string urgent = Submit("/in/long", "/out/urgent", 5);
  for (const std::string& job : running) EXPECT_EQ(StatusOf(job).place_in_queue(), 0);
  EXPECT_EQ(StatusOf(urgent).place_in_queue(), 1);
  EXPECT_EQ(StatusOf(first).place_in_queue(), 2);
  EXPECT_EQ(StatusOf(second).place_in_queue(), 3);
  v1::CancelRequest request;
  request.set_job_id(first);
  master().jobs().Send<rpc::Cancel>(request,
                                    [](const auto& response) { ASSERT_TRUE(response.ok()); });
  RunFor(absl::Seconds(1));
  EXPECT_EQ(StateOf(first), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(StatusOf(second).place_in_queue(), 2);
  for (const std::string& job : running) RunUntilEnded(job);
  RunUntilEnded(urgent);
  RunUntilEnded(second);
  EXPECT_EQ(StateOf(second), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(SeveralJobsTest, TwentySmallJobsAtOnceAllSucceed) {
  std::vector<std::string> jobs;
  for (int j = 0; j < 20; ++j) jobs.push_back(Submit("/in/short", absl::StrCat("/out/", j)));
  for (const std::string& job : jobs) {
    RunUntilEnded(job);
    EXPECT_EQ(StateOf(job), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(StatusOf(job).error());
  }
  RunFor(absl::Seconds(2));
  for (const auto& [name, worker] : world_->workers()) EXPECT_TRUE(worker->HeldJobs().empty());
  EXPECT_TRUE(world_->wrong().empty());
}

}  // namespace
}  // namespace weir::master
