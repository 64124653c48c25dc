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
  EXPECT_EQ(StatusOf(ids[0]).state(), v1::JOB_STATE_QUEUED) << "once more, from its beginning";
  RunUntilEnded(ids.back());
  for (int j = 0; j <= kJobs; ++j) {
    EXPECT_EQ(StatusOf(ids[j]).state(), v1::JOB_STATE_SUCCEEDED) << j;
    const v1::Plan plan = PlanOf(ids[j]);
    EXPECT_EQ(plan.worker_names_size(), 3) << "planned for all workers that came back";
  }
  // The first one began twice.
  std::vector<std::string> began = ids;
  began.insert(began.begin(), ids[0]);
  EXPECT_EQ(Began(), began);
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
  RunUntilEnded(queued);
  EXPECT_EQ(StatusOf(running).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(StatusOf(queued).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Began(), (std::vector<std::string>{running, running, queued}));
}

TEST_F(MasterRestartTest, ARunningJobGoesOnUnderItsIdAndKeyOverAnyNumberOfShutDowns) {
  v1::JobSpec spec = Spec(0);
  spec.set_idempotency_key("once");
  const std::string id = Submit(spec);
  for (int restart = 0; restart <= limits::kMasterEndsPerJobMax; ++restart) {
    RunFor(absl::Seconds(5));
    ASSERT_EQ(StatusOf(id).state(), v1::JOB_STATE_RUNNING) << restart;
    EXPECT_EQ(Submit(spec), id) << "asked again under the same key";
    world_->master().Shutdown([] {});
    RunFor(absl::Seconds(1));
    world_->RestartMaster(absl::Milliseconds(100));
    RunFor(absl::Seconds(2));
  }
  RunUntilEnded(id);
  EXPECT_EQ(StatusOf(id).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Submit(spec), id) << "asked again after its end";
}

TEST_F(MasterRestartTest, WhatAJobHasLostIsNotForgotten) {
  const std::string id = Submit(Spec(0));
  RunFor(absl::Seconds(1));
  ASSERT_EQ(StatusOf(id).state(), v1::JOB_STATE_RUNNING);
  world_->KillWorker("worker-2");
  RunFor(absl::Seconds(3));
  ASSERT_EQ(StatusOf(id).state(), v1::JOB_STATE_RUNNING) << "again";
  const auto loss = [&] { return StatusOf(id).losses(0).SerializeAsString(); };
  ASSERT_EQ(StatusOf(id).losses_size(), 1);
  const std::string before = loss();
  world_->RestartMaster(absl::Milliseconds(500));
  RunFor(absl::Milliseconds(600));
  ASSERT_EQ(StatusOf(id).state(), v1::JOB_STATE_QUEUED);
  ASSERT_EQ(StatusOf(id).losses_size(), 1);
  RunUntilEnded(id);
  EXPECT_EQ(StatusOf(id).state(), v1::JOB_STATE_SUCCEEDED);
  ASSERT_EQ(StatusOf(id).losses_size(), 1);
  EXPECT_EQ(loss(), before);
}

TEST_F(MasterRestartTest, AJobWhoseEndTheFullDiskOfTheJournalDidNotTakeIsNotRunAgain) {
  const std::string id = Submit(Spec(0));
  RunFor(absl::Seconds(1));
  ASSERT_EQ(StatusOf(id).state(), v1::JOB_STATE_RUNNING);
  world_->journal().SetFull(true);
  RunUntilEnded(id);
  ASSERT_EQ(StatusOf(id).error().code(), job_error::kDiskFull);
  RunFor(absl::Minutes(5));
  world_->journal().SetFull(false);
  RunFor(absl::Seconds(10));
  world_->RestartMaster(absl::Milliseconds(500));
  RunFor(absl::Minutes(5));
  EXPECT_EQ(StatusOf(id).state(), v1::JOB_STATE_FAILED) << "as its user was told";
  EXPECT_EQ(StatusOf(id).error().code(), job_error::kDiskFull);
}

TEST_F(MasterRestartTest, AJournalThatCannotBeWrittenIsLaidAtNoWorker) {
  const std::string id = Submit(Spec(0));
  RunFor(absl::Seconds(1));
  ASSERT_EQ(StatusOf(id).state(), v1::JOB_STATE_RUNNING);
  world_->journal().SetGate([] { return sim::MemoryJournal::Fate::kLost; });
  RunUntilEnded(id);
  EXPECT_EQ(StatusOf(id).error().code(), job_error::kInternal);
  EXPECT_EQ(StatusOf(id).error().message().find("the master cannot write its journal"), 0u);
  EXPECT_EQ(StatusOf(id).error().worker(), "");
}

TEST_F(MasterRestartTest, AJobThatEndsItsMasterEachTimeFailsByName) {
  const std::string deadly = Submit(Spec(0));
  const std::string other = Submit(Spec(1));
  for (int start = 0; start < limits::kMasterEndsPerJobMax; ++start) {
    RunFor(absl::Seconds(5));
    ASSERT_EQ(StatusOf(deadly).state(), v1::JOB_STATE_RUNNING) << start;
    world_->RestartMaster(absl::Milliseconds(100));
    RunFor(absl::Seconds(2));
  }
  EXPECT_EQ(StatusOf(deadly).error().code(), job_error::kMasterRestarted);
  RunUntilEnded(other);
  EXPECT_EQ(StatusOf(other).state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(MasterRestartTest, JobsOfAnotherDayGoFromTheJournalWithTheNextOne) {
  MasterOptions options;
  options.jobs_kept_for = absl::Minutes(10);
  options.jobs_kept = 3;
  world_.emplace(7, options, JobRates(), /*print=*/false);
  EXPECT_TRUE(world_->storage().WriteSized("/in/data", 1'000'000).ok());
  world_->StartMaster();
  AddWorkers(1);
  const auto remembered = [this] {
    std::vector<std::string> ids;
    for (const v1::JournalRecord& record : world_->journal().records()) {
      if (record.has_job_accepted()) ids.push_back(record.job_id());
    }
    return ids;
  };
  std::vector<std::string> ids;
  for (int j = 0; j < 6; ++j) {
    ids.push_back(Submit(Spec(j)));
    RunUntilEnded(ids.back());
  }
  EXPECT_EQ(remembered(), std::vector<std::string>(ids.begin() + 3, ids.end()))
      << "by their number";
  RunFor(absl::Minutes(11));
  ids.push_back(Submit(Spec(6)));
  RunFor(absl::Seconds(1));
  EXPECT_EQ(remembered(), std::vector<std::string>{ids.back()}) << "by their age";
  world_->RestartMaster(absl::Seconds(1));
  RunFor(absl::Minutes(12));
  ASSERT_EQ(StatusOf(ids.back()).state(), v1::JOB_STATE_SUCCEEDED);
  world_->RestartMaster(absl::Seconds(1));
  RunFor(absl::Seconds(2));
  EXPECT_TRUE(remembered().empty()) << "also at a start";
}

TEST_F(MasterRestartTest, WhoSpeaksAnotherVersionIsRefusedByName) {
  v1::SubmitRequest request;
  *request.mutable_spec() = Spec(0);
  request.set_wire_version(99);
  request.set_wire_version_oldest(98);
  absl::Status refusal;
  world_->master().jobs().Send<rpc::Submit>(
      request, [&refusal](const auto& response) { refusal = response.status(); });
  RunFor(absl::Seconds(1));
  EXPECT_EQ(JobErrorFromStatus(refusal).code(), job_error::kWrongVersion);
  v1::RegisterRequest worker;
  worker.mutable_identity()->set_name("w");
  worker.mutable_identity()->set_control_endpoint("w:1");
  worker.mutable_identity()->set_data_endpoint("w:2");
  worker.mutable_identity()->set_incarnation("0123456789abcdef");
  worker.mutable_profile()->set_slots(1);
  for (const int oldest : {98, 1}) {
    worker.set_wire_version(99);
    worker.set_wire_version_oldest(oldest);
    absl::Status registered = absl::UnknownError("no answer");
    world_->master().cluster().Send<rpc::Register>(
        worker, [&registered](const auto& response) { registered = response.status(); });
    RunFor(limits::kCallBackTimeout + absl::Milliseconds(10));
    // Understood, it is called back, in vain; nobody listens there.
    EXPECT_EQ(absl::IsUnavailable(registered), oldest == 1) << registered;
  }
}

TEST_F(MasterRestartTest, AJobIsTakenForWorkersThatAreOnTheirWayBack) {
  for (const auto& [name, worker] : world_->workers()) world_->KillWorker(name);
  world_->RestartMaster(absl::Milliseconds(1));
  RunFor(absl::Milliseconds(200));
  const std::string taken = Submit(Spec(0));
  EXPECT_EQ(StatusOf(taken).state(), v1::JOB_STATE_QUEUED);
  RunFor(limits::kWorkerLease);
  EXPECT_EQ(RefusalCode(Spec(1)), job_error::kNoWorkers) << "none came back";
  AddWorkers(1);
  RunUntilEnded(taken);
  EXPECT_EQ(StatusOf(taken).state(), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(MasterRestartTest, WhatWasBeingEndedStaysEnded) {
  const std::string id = Submit(Spec(0));
  RunFor(absl::Seconds(1));
  ASSERT_EQ(StatusOf(id).state(), v1::JOB_STATE_RUNNING);
  v1::CancelRequest cancel;
  cancel.set_job_id(id);
  bool taken = false;
  world_->master().jobs().Send<rpc::Cancel>(
      cancel, [&taken](const auto& response) { taken = response.ok(); });
  // Its end is in the journal, and its workers have not confirmed it yet.
  const auto ending = [this] {
    const v1::JournalRecord& last = world_->journal().records().back();
    return last.job_state_changed().state() == v1::JOB_STATE_ENDING;
  };
  for (int ms = 0; ms < 100 && !ending(); ++ms) RunFor(absl::Milliseconds(1));
  ASSERT_TRUE(taken && ending());
  world_->RestartMaster(absl::Milliseconds(100));
  RunFor(absl::Seconds(5));
  EXPECT_EQ(StatusOf(id).state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(StatusOf(id).error().code(), job_error::kCancelled);
}

TEST_F(MasterRestartTest, ARunningJobRunsThePlanItWasGivenAgain) {
  const std::string first = Submit(Spec(0));
  RunUntilEnded(first);
  v1::JobSpec spec = Spec(1);
  *spec.mutable_plan() = PlanOf(first);
  const std::string given = Submit(spec);
  RunFor(absl::Seconds(2));
  ASSERT_EQ(StatusOf(given).state(), v1::JOB_STATE_RUNNING);
  world_->RestartMaster(absl::Milliseconds(100));
  RunFor(absl::Seconds(1));
  RunUntilEnded(given);
  EXPECT_EQ(StatusOf(given).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(StatusOf(given).plan_id(), StatusOf(first).plan_id());
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
