// CalibrationMachine through the master, on virtual time.

#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/master/job/job_machine.h"
#include "runtime/master/master.h"
#include "tests/sim/world.h"

namespace weir::master {
namespace {

using testing::HasSubstr;

class MasterCalibrateTest : public ::testing::Test {
 protected:
  MasterCalibrateTest() {
    world_.emplace(7, MasterOptions(), JobRates(), /*print=*/false);
    EXPECT_TRUE(world_->storage().WriteSized("/in/data", 1'000'000'000).ok());
    world_->StartMaster();
  }
  ~MasterCalibrateTest() override { EXPECT_TRUE(world_->wrong().empty()) << world_->wrong()[0]; }

  void AddWorkers(int n) {
    for (int w = 0; w < n; ++w) {
      sim::WorkerModel model;
      model.name = "worker-" + std::to_string(w);
      model.channel_seconds_per_byte = 1e-8;
      model.slowness = w == 1 ? 4 : 1;
      world_->StartWorker(model);
    }
    RunFor(absl::Seconds(1));
  }
  void RunFor(absl::Duration duration) {
    const MonoTime end = world_->time().now() + duration;
    while (world_->time().now() < end && world_->time().RunNext()) {
    }
  }
  absl::StatusOr<v1::CalibrateResponse> Ask(const std::string& id, bool start,
                                            bool cancel = false) {
    v1::CalibrateRequest request;
    request.set_calibration_id(id);
    request.set_start(start);
    request.set_cancel(cancel);
    absl::StatusOr<v1::CalibrateResponse> answer = absl::UnknownError("no answer");
    world_->master().jobs().Send<rpc::Calibrate>(
        request, [&answer](auto response) { answer = std::move(response); });
    RunFor(absl::Milliseconds(250));
    return answer;
  }
  absl::StatusOr<v1::CalibrateResponse> AskUntilDone(const std::string& id) {
    absl::StatusOr<v1::CalibrateResponse> answer = Ask(id, false);
    for (int i = 0; i < 600 && answer.ok() && !answer->done(); ++i) answer = Ask(id, false);
    return answer;
  }
  v1::WorkerProfile ProfileOf(const std::string& name) {
    v1::WorkerProfile profile;
    world_->master().jobs().Send<rpc::ListWorkers>({}, [&](const auto& response) {
      for (const auto& worker : response->workers()) {
        if (worker.identity().name() == name) profile = worker.profile();
      }
    });
    return profile;
  }
  std::string Submit() {
    v1::SubmitRequest request;
    request.mutable_spec()->set_job("simjob");
    request.mutable_spec()->add_inputs("/in/data");
    request.mutable_spec()->set_output("/out/x");
    std::string id;
    world_->master().jobs().Send<rpc::Submit>(request, [&id](const auto& response) {
      ASSERT_TRUE(response.ok()) << response.status();
      id = response->job_id();
    });
    RunFor(absl::Milliseconds(100));
    return id;
  }
  v1::JobState StateOf(const std::string& id) {
    v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
    v1::GetStatusRequest request;
    request.set_job_id(id);
    world_->master().jobs().Send<rpc::GetStatus>(request, [&state](const auto& response) {
      if (response.ok()) state = response->state();
    });
    return state;
  }

  std::optional<sim::World> world_;
};

TEST_F(MasterCalibrateTest, MeasuresRemembersAndSurvivesARestart) {
  AddWorkers(4);
  ASSERT_TRUE(Ask("c-1", true).ok());
  const auto done = AskUntilDone("c-1");
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_NEAR(done->network().channel_bytes_per_s(), 1e8, 1e6);
  EXPECT_GT(done->network().latency_s(), 2e-4);
  EXPECT_NEAR(ProfileOf("worker-0").port_bytes_per_s(), 1e8, 1e6);
  EXPECT_NEAR(ProfileOf("worker-1").port_bytes_per_s(), 2.5e7, 1e6);
  world_->RestartMaster(absl::Milliseconds(100));
  RunFor(absl::Seconds(8));
  EXPECT_NEAR(ProfileOf("worker-1").port_bytes_per_s(), 2.5e7, 1e6);
  v1::DryRunRequest request;
  request.mutable_spec()->set_job("simjob");
  request.mutable_spec()->add_inputs("/in/data");
  std::optional<absl::StatusOr<v1::GetPlanResponse>> plan;
  world_->master().jobs().Send<rpc::DryRun>(request, [&plan](auto response) { plan = response; });
  RunFor(absl::Seconds(1));
  ASSERT_TRUE(plan && plan->ok());
  EXPECT_NEAR((*plan)->plan().network().seconds_per_byte(), 1e-8, 1e-10);
  std::string origin;
  for (const auto& number : (*plan)->plan().numbers()) {
    if (number.name() == "channel time") origin = number.origin();
  }
  EXPECT_EQ(origin, "measured");
}

TEST_F(MasterCalibrateTest, AResultThatALastPatternContradictsIsShownButNeverStored) {
  AddWorkers(4);
  ASSERT_TRUE(Ask("c-1", true).ok());
  ASSERT_TRUE(AskUntilDone("c-1").ok());
  ASSERT_NEAR(ProfileOf("worker-0").port_bytes_per_s(), 1e8, 1e6);
  // The second time the network is twice as fast, until the very last pattern.
  for (const auto& [name, worker] : world_->workers()) worker->faults().network_slowness = 0.5;
  ASSERT_TRUE(Ask("c-2", true).ok());
  std::string doing;
  v1::CalibrateRequest request;
  request.set_calibration_id("c-2");
  for (int turn = 0; turn < 10'000'000 && !testing::Value(doing, HasSubstr("a last pattern"));
       ++turn) {
    ASSERT_TRUE(world_->time().RunNext());
    world_->master().jobs().Send<rpc::Calibrate>(request, [&doing](const auto& response) {
      ASSERT_TRUE(response.ok()) << response.status();
      doing = response->doing();
    });
  }
  for (const auto& [name, worker] : world_->workers()) worker->faults().network_slowness = 2;
  const auto done = AskUntilDone("c-2");
  ASSERT_TRUE(done.ok()) << done.status();
  std::string notes;
  for (const auto& note : done->network().notes()) notes += note + "\n";
  EXPECT_THAT(notes, HasSubstr("do not rely on them, measure again"));
  EXPECT_THAT(notes, HasSubstr("not stored"));
  EXPECT_NEAR(ProfileOf("worker-0").port_bytes_per_s(), 1e8, 1e6) << "what was known before";
  world_->RestartMaster(absl::Milliseconds(100));
  RunFor(absl::Seconds(8));
  EXPECT_NEAR(ProfileOf("worker-0").port_bytes_per_s(), 1e8, 1e6) << "the journal has no more";
}

TEST_F(MasterCalibrateTest, AGivenPlanIsGrantedAheadOnAMeasuredNetworkToo) {
  AddWorkers(3);
  ASSERT_TRUE(Ask("c-1", true).ok());
  ASSERT_TRUE(AskUntilDone("c-1").ok());
  v1::DryRunRequest dry_run;
  dry_run.mutable_spec()->set_job("simjob");
  dry_run.mutable_spec()->add_inputs("/in/data");
  dry_run.mutable_spec()->set_plan_method("even");
  v1::SubmitRequest request;
  world_->master().jobs().Send<rpc::DryRun>(dry_run, [&request](const auto& response) {
    ASSERT_TRUE(response.ok()) << response.status();
    *request.mutable_spec()->mutable_plan() = response->plan();
  });
  RunFor(absl::Seconds(1));
  request.mutable_spec()->set_job("simjob");
  request.mutable_spec()->add_inputs("/in/data");
  request.mutable_spec()->set_output("/out/z");
  v1::GetPlanRequest get;
  world_->master().jobs().Send<rpc::Submit>(request, [&get](const auto& response) {
    ASSERT_TRUE(response.ok()) << response.status();
    get.set_job_id(response->job_id());
  });
  for (int i = 0; i < 300 && !IsTerminal(StateOf(get.job_id())); ++i) RunFor(absl::Seconds(1));
  ASSERT_EQ(StateOf(get.job_id()), v1::JOB_STATE_SUCCEEDED);
  std::int64_t in_flight_bytes = 0;
  world_->master().jobs().Send<rpc::GetPlan>(get, [&in_flight_bytes](const auto& response) {
    ASSERT_TRUE(response.ok()) << response.status();
    for (const auto& transfer : response->actual().transfers())
      in_flight_bytes += transfer.in_flight_bytes();
  });
  RunFor(absl::Seconds(1));
  EXPECT_GT(in_flight_bytes, 0) << "no port was given on before a transfer's last byte";
}

TEST_F(MasterCalibrateTest, OneWorkerIsTooFew) {
  AddWorkers(1);
  const auto answer = Ask("c-1", true);
  EXPECT_TRUE(absl::IsFailedPrecondition(answer.status()));
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("only one is alive"));
}

TEST_F(MasterCalibrateTest, ARunningJobRefusesItAndASubmittedOneWaits) {
  AddWorkers(2);
  const std::string running = Submit();
  const auto refused = Ask("c-1", true);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr(running));
  for (int i = 0; i < 300 && !IsTerminal(StateOf(running)); ++i) RunFor(absl::Seconds(1));
  ASSERT_EQ(StateOf(running), v1::JOB_STATE_SUCCEEDED);

  ASSERT_TRUE(Ask("c-2", true).ok());
  v1::SubmitRequest request;
  request.mutable_spec()->set_job("simjob");
  request.mutable_spec()->add_inputs("/in/data");
  request.mutable_spec()->set_output("/out/y");
  std::string waiting;
  world_->master().jobs().Send<rpc::Submit>(request, [&](const auto& response) {
    ASSERT_TRUE(response.ok());
    waiting = response->job_id();
  });
  RunFor(absl::Seconds(1));
  EXPECT_EQ(StateOf(waiting), v1::JOB_STATE_QUEUED);
  ASSERT_TRUE(AskUntilDone("c-2").ok());
  RunFor(absl::Milliseconds(100));
  EXPECT_NE(StateOf(waiting), v1::JOB_STATE_QUEUED);
  for (int i = 0; i < 300 && !IsTerminal(StateOf(waiting)); ++i) RunFor(absl::Seconds(1));
  EXPECT_EQ(StateOf(waiting), v1::JOB_STATE_SUCCEEDED);
}

TEST_F(MasterCalibrateTest, TwoAtOnceAndUnknownOnesAreRefused) {
  AddWorkers(2);
  ASSERT_TRUE(Ask("c-1", true).ok());
  ASSERT_TRUE(Ask("c-1", true).ok()) << "the same start again is no second one";
  EXPECT_TRUE(absl::IsFailedPrecondition(Ask("c-2", true).status()));
  EXPECT_TRUE(absl::IsNotFound(Ask("c-3", false).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Ask("", true).status()));
}

TEST_F(MasterCalibrateTest, IsCancelledByItsUser) {
  AddWorkers(2);
  ASSERT_TRUE(Ask("c-1", true).ok());
  EXPECT_TRUE(absl::IsCancelled(Ask("c-1", false, /*cancel=*/true).status()));
  EXPECT_TRUE(Ask("c-2", true).ok());
}

TEST_F(MasterCalibrateTest, EndsWhenNobodyAsks) {
  AddWorkers(8);
  ASSERT_TRUE(Ask("c-1", true).ok());
  RunFor(limits::kCalibrationUnasked + absl::Seconds(3));
  EXPECT_TRUE(absl::IsCancelled(Ask("c-1", false).status()));
}

TEST_F(MasterCalibrateTest, GoesOnWithoutAWorkerThatVanishes) {
  AddWorkers(4);
  ASSERT_TRUE(Ask("c-1", true).ok());
  world_->KillWorker("worker-2");
  const auto done = AskUntilDone("c-1");
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(done->network().ports_size(), 3);
  std::string notes;
  for (const auto& note : done->network().notes()) notes += note + "\n";
  EXPECT_THAT(notes, HasSubstr("worker worker-2 vanished"));
}

TEST_F(MasterCalibrateTest, FailsByNameWhenTooFewAreLeft) {
  AddWorkers(2);
  ASSERT_TRUE(Ask("c-1", true).ok());
  world_->KillWorker("worker-1");
  const auto failed = AskUntilDone("c-1");
  EXPECT_TRUE(absl::IsFailedPrecondition(failed.status())) << failed.status();
  EXPECT_THAT(std::string(failed.status().message()), HasSubstr("worker worker-1"));
}

}  // namespace
}  // namespace weir::master
