// A worker that is slower than its plan says loses work to the others, and only then.

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

class StragglersTest : public MasterTest {
 protected:
  StragglersTest() { AddWorkers(4); }

  /// Runs a job during which worker-2 computes so many times slower than the others.
  v1::JobStatus RunWith(double slowness) {
    world_->FindWorker("worker-2")->faults().cpu_slowness = slowness;
    const absl::StatusOr<std::string> id = Submit(Spec());
    EXPECT_TRUE(id.ok()) << id.status();
    RunFor(absl::Seconds(240));
    v1::JobStatus status = StatusOf(*id);
    EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
    return status;
  }
};

TEST_F(StragglersTest, WhoIsAsFastAsPlannedKeepsItsWork) {
  const v1::JobStatus status = RunWith(1);
  EXPECT_FALSE(absl::StrContains(status.plan_text(), "Edited while it ran")) << status.plan_text();
}

TEST_F(StragglersTest, TheOthersTakeOverFromOneAtATenth) {
  const v1::JobStatus status = RunWith(10);
  EXPECT_TRUE(absl::StrContains(status.plan_text(), "Edited while it ran")) << status.plan_text();
  EXPECT_EQ(status.losses_size(), 0);
  EXPECT_EQ(status.counters(0).value(), 1'000'000'000) << "what is done again counts once";
  // The predicted end of the first plan is some 2.5 s; the slow one alone would take ten times
  // that.
  EXPECT_LT(status.actual_makespan_s(), 8);
  EXPECT_TRUE(world_->FindWorker("worker-2")->HeldJobs().empty());
}

class CancelledTransfersTest : public StragglersTest {
 protected:
  CancelledTransfersTest() {
    for (int w = 0; w < 4; ++w) {  // again, with much to move
      sim::WorkerModel model;
      model.name = absl::StrCat("worker-", w);
      model.map_output_ratio = 0.5;
      model.channel_seconds_per_byte = 1 / 5e7;
      world_->KillWorker(model.name);
      world_->StartWorker(model);
    }
    EXPECT_TRUE(world_->storage().WriteSized("/in/much", 8'000'000'000).ok());
  }

  /// Runs six jobs, in each of which worker-2 gets slow a little later: at some time something is
  /// on its way to a reducer that it loses.
  template <typename Meanwhile>
  void RunJobs(Meanwhile&& meanwhile) {
    for (int number = 0; number < 6; ++number) {
      v1::JobSpec spec = Spec();
      spec.set_inputs(0, "/in/much");
      spec.set_num_mappers(40);
      spec.set_output(absl::StrCat("/out/", number));
      const absl::StatusOr<std::string> id = Submit(spec);
      ASSERT_TRUE(id.ok()) << id.status();
      RunFor(absl::Milliseconds(1500 + 350 * number));
      world_->FindWorker("worker-2")->faults().cpu_slowness = 20;
      meanwhile();
      const v1::JobStatus status = StatusOf(*id);
      EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
      EXPECT_EQ(status.counters(0).value(), 8'000'000'000);
      // What was broken off and is held to be under way would look like one.
      EXPECT_FALSE(absl::StrContains(status.plan_text(), "Slow port")) << status.plan_text();
      for (const v1::WorkerLoss& loss : status.losses()) lost_.push_back(loss.worker());
      world_->FindWorker("worker-2")->faults().cpu_slowness = 1;
    }
    EXPECT_GT(world_->trace().cancelled_transfers, 0);
    EXPECT_THAT(world_->wrong(), testing::IsEmpty());
  }

  // No answer to CancelTransfer arrives from now on; what made the worker slow is over in 12 s.
  void BreakOffUnheard() {
    world_->network().call_faults().Set("weir.v1.WorkerService.CancelTransfer",
                                        sim::CallFault::kAnswerLost, 1);
    RunFor(absl::Seconds(12));
    world_->FindWorker("worker-2")->faults().cpu_slowness = 1;
  }
  std::vector<std::string> lost_;  // by any of the jobs
};

// Their ports and channels are given to others.
TEST_F(CancelledTransfersTest, AreThoseToOneThatLosesItsReducer) {
  RunJobs([this] { RunFor(absl::Seconds(90)); });
}

// What was broken off is not reported on: nobody may wait for it.
TEST_F(CancelledTransfersTest, AreMovedAgainWhereNobodyHeardThatTheyWere) {
  RunJobs([this] {
    BreakOffUnheard();
    world_->network().call_faults().Clear();
    RunFor(absl::Seconds(120));
  });
}

// The receiver beats on: its lease never says that nobody should wait for it.
TEST_F(CancelledTransfersTest, AreNotWaitedForWithoutEndWhereNobodyEverAnswers) {
  RunJobs([this] {
    BreakOffUnheard();
    RunFor(absl::Seconds(240));
    world_->network().call_faults().Clear();
  });
  EXPECT_FALSE(lost_.empty()) << "nobody was asked in vain";
  EXPECT_THAT(lost_, testing::Each("worker-2"));
}

}  // namespace
}  // namespace weir::master
