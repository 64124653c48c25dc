// A master that is stopped and goes on, as its process or its machine may be: time in which it
// stood still is nobody's silence. The whole master on virtual time.

#include <string>

#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "tests/sim/call_faults.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

// Beyond every patience, so that what was asked before is over by all clocks.
constexpr absl::Duration kStopped = absl::Minutes(1);
static_assert(kStopped > limits::kPeerPatience);

class StandingStillTest : public MasterTest {
 protected:
  StandingStillTest() { AddWorkers(1); }
  /// A job that asks its only worker for one thing after the other.
  static v1::JobSpec Steps() {
    v1::JobSpec spec = Spec();
    spec.set_sampling("off");
    spec.set_num_mappers(4);
    return spec;
  }
  /// Stops the master as soon as a call of this method to a worker is lost; later ones are not.
  void StopWhenOneIsLost(const std::string& method) {
    sim::CallFaults& faults = world_->network().call_faults();
    const auto lost = [&] { return faults.struck(method, sim::CallFault::kRequestLost); };
    for (int ms = 0; ms < 60'000 && lost() == 0; ++ms) RunFor(absl::Milliseconds(1));
    ASSERT_GT(lost(), 0) << method;
    faults.Clear();
    world_->HangMaster(kStopped);
    RunFor(kStopped + absl::Minutes(3));
  }
};

TEST_F(StandingStillTest, AnOrderOnItsWayIsGivenAgain) {
  const auto id = Submit(Steps());
  ASSERT_TRUE(id.ok()) << id.status();
  for (int ms = 0; ms < 5000 && StatusOf(*id).state() != v1::JOB_STATE_RUNNING; ++ms) {
    RunFor(absl::Milliseconds(1));
  }
  constexpr char kStartStep[] = "weir.v1.WorkerService.StartStep";
  world_->network().call_faults().Set(kStartStep, sim::CallFault::kRequestLost, 1);
  StopWhenOneIsLost(kStartStep);
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
}

TEST_F(StandingStillTest, SoIsThePreparationOfAJob) {
  constexpr char kPrepareJob[] = "weir.v1.WorkerService.PrepareJob";
  world_->network().call_faults().Set(kPrepareJob, sim::CallFault::kRequestLost, 1);
  const auto id = Submit(Steps());
  ASSERT_TRUE(id.ok()) << id.status();
  StopWhenOneIsLost(kPrepareJob);
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
}

TEST_F(StandingStillTest, AWorkerThatCameMeanwhileIsHeardBeforeAJobEndsForWantOfIt) {
  const auto id = Submit(Steps());
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Seconds(1));
  ASSERT_EQ(StatusOf(*id).state(), v1::JOB_STATE_RUNNING);
  const sim::WorkerModel model = world_->FindWorker("worker-0")->model();
  world_->KillWorker("worker-0");
  RunFor(limits::kWorkerGrace / 2);
  ASSERT_EQ(StatusOf(*id).state(), v1::JOB_STATE_PLANNING);
  world_->HangMaster(limits::kWorkerGrace);
  world_->StartWorker(model);
  RunFor(limits::kWorkerGrace + absl::Minutes(3));
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
}

// The pool of its files stands still with it, and goes on with it.
TEST_F(StandingStillTest, WhatIsPublishedMeanwhileIsNotLate) {
  const auto id = Submit(Steps());
  ASSERT_TRUE(id.ok()) << id.status();
  for (int i = 0; i < 6000 && StatusOf(*id).state() != v1::JOB_STATE_RUNNING; ++i) {
    RunFor(absl::Milliseconds(10));
  }
  world_->disk_pool().Hold();
  for (int i = 0; i < 60'000 && StatusOf(*id).state() != v1::JOB_STATE_COMMITTING; ++i) {
    RunFor(absl::Milliseconds(10));
  }
  ASSERT_EQ(StatusOf(*id).state(), v1::JOB_STATE_COMMITTING);
  constexpr absl::Duration kStoppedLong = absl::Minutes(20);
  world_->HangMaster(kStoppedLong);
  RunFor(kStoppedLong + absl::Seconds(10));
  EXPECT_EQ(StatusOf(*id).state(), v1::JOB_STATE_COMMITTING);
  world_->disk_pool().GoOn();
  RunFor(absl::Minutes(1));
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
}

TEST_F(StandingStillTest, NobodyWhoComesEndsTheJobAsEver) {
  const auto id = Submit(Steps());
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Seconds(1));
  world_->KillWorker("worker-0");
  RunFor(limits::kWorkerGrace / 2);
  world_->HangMaster(limits::kWorkerGrace);
  RunFor(2 * limits::kWorkerGrace + absl::Seconds(5));
  EXPECT_EQ(StatusOf(*id).error().code(), job_error::kNoWorkers);
}

}  // namespace
}  // namespace weir::master
