// The queue across restarts of the master, on virtual time.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

class MasterRestartTest : public MasterTest {
 protected:
  static constexpr int kJobs = 20;

  MasterRestartTest() {
    EXPECT_TRUE(world_->storage().WriteSized("/in/data", 10'000'000'000).ok());
    AddWorkers(3);
  }
  v1::JobSpec Spec(int number) {
    v1::JobSpec spec = MasterTest::Spec();
    spec.set_output("/out/" + std::to_string(number));
    return spec;
  }
  std::string Submit(const v1::JobSpec& spec) {
    const absl::StatusOr<std::string> id = MasterTest::Submit(spec, absl::Milliseconds(20));
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  v1::Plan PlanOf(const std::string& id) {
    v1::Plan plan;
    v1::GetPlanRequest request;
    request.set_job_id(id);
    world_->master().jobs().Send<rpc::GetPlan>(request, [&plan](const auto& response) {
      if (response.ok()) plan = response->plan();
    });
    RunFor(absl::Milliseconds(20));
    return plan;
  }
  /// Jobs in the order in which the journal says that they began.
  std::vector<std::string> Began() {
    std::vector<std::string> began;
    for (const v1::JournalRecord& record : world_->journal().records()) {
      const bool begins = record.has_job_state_changed() &&
                          record.job_state_changed().state() == v1::JOB_STATE_PLANNING;
      if (begins) began.push_back(record.job_id());
    }
    return began;
  }
  void RunUntilEnded(const std::string& id) {
    for (int s = 0; s < 600 && StatusOf(id).ended_unix_ms() == 0; ++s) RunFor(absl::Seconds(1));
    ASSERT_NE(StatusOf(id).ended_unix_ms(), 0) << "in ten minutes";
  }
};

TEST_F(MasterRestartTest, QueuedJobsSurviveAKilledMasterInTheirOrder) {
  std::vector<std::string> ids;
  for (int j = 0; j <= kJobs; ++j) ids.push_back(Submit(Spec(j)));
  ASSERT_EQ(StatusOf(ids[0]).state(), v1::JOB_STATE_RUNNING);
  world_->RestartMaster(absl::Milliseconds(500));
  RunFor(absl::Milliseconds(600));
  EXPECT_EQ(StatusOf(ids[0]).error().code(), job_error::kMasterRestarted);
  RunUntilEnded(ids.back());
  for (int j = 1; j <= kJobs; ++j) {
    EXPECT_EQ(StatusOf(ids[j]).state(), v1::JOB_STATE_SUCCEEDED) << j;
    const v1::Plan plan = PlanOf(ids[j]);
    EXPECT_EQ(plan.worker_names_size(), 3) << "planned for all workers that came back";
  }
  EXPECT_EQ(Began(), ids);
}

TEST_F(MasterRestartTest, QueuedJobsSurviveAMasterThatIsShutDown) {
  const std::string running = Submit(Spec(0));
  const std::string queued = Submit(Spec(1));
  bool stopped = false;
  world_->master().Shutdown([&stopped] { stopped = true; });
  RunFor(absl::Seconds(5));
  ASSERT_TRUE(stopped);
  world_->RestartMaster(absl::Seconds(1));
  RunFor(absl::Seconds(2));
  EXPECT_EQ(StatusOf(running).error().code(), job_error::kMasterRestarted);
  RunUntilEnded(queued);
  EXPECT_EQ(StatusOf(queued).state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(MasterRestartTest, AQueuedJobKeepsItsKeyAndItsDeadline) {
  Submit(Spec(0));
  v1::JobSpec spec = Spec(1);
  spec.set_idempotency_key("once");
  spec.set_deadline_ms(20'000);
  const std::string queued = Submit(spec);
  const MonoTime submitted = world_->time().now();
  for (const auto& [name, worker] : world_->workers()) world_->KillWorker(name);
  world_->RestartMaster(absl::Seconds(8));
  RunFor(absl::Seconds(9));
  EXPECT_EQ(Submit(spec), queued) << "asked again under the same key";
  EXPECT_EQ(StatusOf(queued).state(), v1::JOB_STATE_QUEUED) << "it waits for a worker";
  RunFor(submitted + absl::Seconds(21) - world_->time().now());
  EXPECT_EQ(StatusOf(queued).error().code(), job_error::kDeadline) << "counted from its submission";
}

TEST_F(MasterRestartTest, TheQueueWaitsForTheFellowsOfTheFirstWorkerThatReturns) {
  Submit(Spec(0));
  const std::string queued = Submit(Spec(1));
  for (const auto& [name, worker] : world_->workers()) world_->KillWorker(name);
  RunFor(absl::Seconds(10));
  EXPECT_EQ(StatusOf(queued).state(), v1::JOB_STATE_QUEUED);
  for (const char* name : {"worker-0", "worker-1"}) {
    sim::WorkerModel model;
    model.name = name;
    world_->StartWorker(model);
    RunFor(limits::kWorkersReturn / 2);
  }
  RunUntilEnded(queued);
  EXPECT_EQ(StatusOf(queued).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(PlanOf(queued).worker_names_size(), 2);
}

TEST_F(MasterRestartTest, AQueuedJobRunsThePlanItWasGiven) {
  const std::string first = Submit(Spec(0));
  RunUntilEnded(first);
  const v1::Plan plan = PlanOf(first);
  Submit(Spec(1));
  v1::JobSpec spec = Spec(2);
  *spec.mutable_plan() = plan;
  const std::string queued = Submit(spec);
  world_->RestartMaster(absl::Milliseconds(100));
  RunFor(absl::Seconds(1));
  RunUntilEnded(queued);
  EXPECT_EQ(StatusOf(queued).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(StatusOf(queued).plan_id(), StatusOf(first).plan_id());
}

}  // namespace
}  // namespace weir::master
