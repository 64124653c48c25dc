// Transfers between workers that do not hear each other for a while: the whole master on virtual
// time.

#include <cstdint>
#include <string>
#include <tuple>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/master/job/job_machine.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

/// Two workers map for 2 s and then send each other 12.5 MB each, for 50 s.
class BrokenTransfersTest : public MasterTest {
 protected:
  BrokenTransfersTest() {
    for (int w = 0; w < 2; ++w) {
      sim::WorkerModel model;
      model.name = "worker-" + std::to_string(w);
      model.channel_seconds_per_byte = 1 / 2.5e5;
      world_->StartWorker(model);
    }
    RunFor(absl::Seconds(1));
    v1::JobSpec spec = Spec();
    spec.set_plan_method("even");
    spec.set_num_reducers(2);
    const absl::StatusOr<std::string> id = Submit(spec);
    EXPECT_TRUE(id.ok()) << id.status();
    id_ = id.value_or("");
    for (int i = 0; i < 100 && Status().progress().transfers_total() == 0; ++i) {
      RunFor(absl::Milliseconds(100));
    }
    EXPECT_GT(Status().progress().transfers_total(), 0);
    RunFor(absl::Seconds(5));
  }
  v1::JobStatus Status() { return StatusOf(id_); }
  void Part(absl::Duration how_long) {
    world_->ChangeCuts("parted", [](sim::Cuts& cuts) { cuts.CutBoth("worker-0", "worker-1"); });
    RunFor(how_long);
    world_->ChangeCuts("heard", [](sim::Cuts& cuts) { cuts.Heal(); });
  }

  std::string id_;
};

TEST_F(BrokenTransfersTest, SilencesWithBytesBetweenThemDoNotAddUp) {
  Part(absl::Seconds(10));
  RunFor(limits::kPeerPatience);
  EXPECT_EQ(Status().state(), v1::JOB_STATE_RUNNING) << "it moves from its first byte again";
  EXPECT_EQ(Status().progress().transfers_done(), 0);
  Part(absl::Seconds(8));
  RunFor(absl::Seconds(70));
  const v1::JobStatus status = Status();
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
}

TEST_F(BrokenTransfersTest, OneLongSilenceEndsTheJobByName) {
  Part(limits::kPeerPatience + absl::Seconds(15));
  EXPECT_EQ(Status().error().code(), job_error::kWorkerUnreachable);
}

// It is stopped for less than a lease each time: its workers notice nothing.
TEST_F(BrokenTransfersTest, TimeInWhichTheMasterStandsStillIsNoSilence) {
  world_->ChangeCuts("parted", [](sim::Cuts& cuts) { cuts.CutBoth("worker-0", "worker-1"); });
  constexpr std::int64_t kStoppedMs = 4500;
  constexpr std::int64_t kCycleMs = 6000;
  constexpr std::int64_t kStops = 11;
  static_assert(absl::Milliseconds(kStoppedMs) < limits::kWorkerLease);
  static_assert(absl::Milliseconds(kStops * kCycleMs) > limits::kPeerPatience);
  static_assert(absl::Milliseconds(kStops * (kCycleMs - kStoppedMs)) < limits::kPeerPatience);
  for (int stop = 0; stop < kStops; ++stop) {
    world_->HangMaster(absl::Milliseconds(kStoppedMs));
    RunFor(absl::Milliseconds(kCycleMs));
  }
  world_->ChangeCuts("heard", [](sim::Cuts& cuts) { cuts.Heal(); });
  RunFor(absl::Minutes(3));
  const v1::JobStatus status = Status();
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
}

/// Four workers send each other about 3 MB each, for 30 s; one that is about to leave never says
/// that it broke off what it receives, and beats on. Parameters: whom the job loses then, and why
/// the other one does not say so.
class HeldByOneThatLeavesTest
    : public MasterTest,
      public testing::WithParamInterface<std::tuple<const char*, sim::CallFault>> {
 protected:
  HeldByOneThatLeavesTest() {
    for (int w = 0; w < 4; ++w) {
      sim::WorkerModel model;
      model.name = "worker-" + std::to_string(w);
      model.channel_seconds_per_byte = 1 / 1e5;
      world_->StartWorker(model);
    }
    RunFor(absl::Seconds(1));
  }
};

// The loss has the plan edited again and again, and no edit can be taken. By then nothing waits at
// the one that leaves, so that each edit drops what it receives.
TEST_P(HeldByOneThatLeavesTest, ALossIsNotEditedForWithoutEnd) {
  v1::JobSpec spec = Spec();
  spec.set_plan_method("even");
  spec.set_num_reducers(4);
  const absl::StatusOr<std::string> id = Submit(spec);
  ASSERT_TRUE(id.ok()) << id.status();
  for (int i = 0; i < 100 && StatusOf(*id).progress().transfers_total() == 0; ++i) {
    RunFor(absl::Milliseconds(100));
  }
  RunFor(absl::Seconds(5));
  const auto [lost, fault] = GetParam();
  constexpr char kCancelTransfer[] = "weir.v1.WorkerService.CancelTransfer";
  world_->network().call_faults().Set(kCancelTransfer, fault, 1);
  world_->FindWorker("worker-2")->Drain(absl::Hours(1));
  RunFor(absl::Seconds(30));
  ASSERT_EQ(StatusOf(*id).state(), v1::JOB_STATE_RUNNING);
  world_->KillWorker(lost);
  RunFor(absl::Minutes(20));
  EXPECT_GT(world_->network().call_faults().struck(kCancelTransfer, fault), 0);
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
}

// One of them may be the one that sends: then nothing has to be broken off.
INSTANTIATE_TEST_SUITE_P(Lost, HeldByOneThatLeavesTest,
                         testing::Combine(testing::Values("worker-0", "worker-1", "worker-3"),
                                          testing::Values(sim::CallFault::kAnswerLost,
                                                          sim::CallFault::kUnknown)));

}  // namespace
}  // namespace weir::master
