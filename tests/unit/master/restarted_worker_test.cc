#include "runtime/master/resume/restarted_worker.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/plan/units.h"
#include "runtime/base/run_id.h"

namespace weir::master {
namespace {

using planner::At;
using planner::StepIndex;
using planner::WorkState;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr StepIndex kMapThere = 0;
constexpr StepIndex kMapElsewhere = 1;
constexpr StepIndex kReaderThere = 2;
constexpr StepIndex kReaderElsewhere = 3;
constexpr planner::WorkerIndex kRestarted = 0;

/// Maps and reduces on workers 0 and 1; reduces make parts. Both maps are done, and what each
/// reduce lacks has arrived.
class RestartedWorkerTest : public ::testing::Test {
 protected:
  RestartedWorkerTest() {
    plan_.network.num_workers = 2;
    for (const int worker : {0, 1, 0, 1}) plan_.steps.emplace_back().worker = worker;
    for (const StepIndex map : {kMapThere, kMapElsewhere}) {
      for (const StepIndex reduce : {kReaderThere, kReaderElsewhere}) {
        plan_.sections.push_back({map, reduce, 10});
      }
    }
    plan_.transfers = {{kMapThere, kReaderElsewhere, 0, 1, 0, 10, 0, 0},
                       {kMapElsewhere, kReaderThere, 1, 0, 0, 5, 0, 0},
                       {kMapElsewhere, kReaderThere, 1, 0, 5, 5, 0, 0}};
    state_ = planner::NothingDone(plan_);
    for (const StepIndex map : {kMapThere, kMapElsewhere}) Finish(map);
    for (WorkState& transfer : state_.transfers) transfer = WorkState::kDone;
  }
  void Finish(StepIndex step) {
    state_.steps[At(step)] = WorkState::kDone;
    state_.run_there[At(step)] = true;
    state_.step_began_s[At(step)] = 1;
    state_.step_ended_s[At(step)] = 4;
  }
  void Hold(StepIndex step, int attempt) {
    v1::HeldRun& run = *held_.add_runs();
    run.set_attempt(attempt);
    run.mutable_result()->set_step(step);
    run.mutable_result()->mutable_run()->set_run_id(RunIdOf(step, attempt));
  }
  RestartLoss Loss() const { return LossOfRestart(plan_, state_, attempts_, kRestarted, &held_); }

  planner::Plan plan_;
  planner::PlanState state_;
  std::vector<int> attempts_ = {2, 1, 0, 0};
  v1::HeldJob held_;
};

TEST_F(RestartedWorkerTest, KeepsTheRunsThatCount) {
  Hold(kMapThere, 2);
  const RestartLoss loss = Loss();
  ASSERT_EQ(loss.runs_kept.size(), 1u);
  EXPECT_EQ(loss.runs_kept[0]->attempt(), 2);
  EXPECT_THAT(loss.runs_lost, IsEmpty());
}

TEST_F(RestartedWorkerTest, LosesOnesThatItDoesNotHold) {
  EXPECT_THAT(Loss().runs_lost, ElementsAre(kMapThere));
  EXPECT_THAT(LossOfRestart(plan_, state_, attempts_, kRestarted, nullptr).runs_lost,
              ElementsAre(kMapThere));
}

TEST_F(RestartedWorkerTest, ARunOfAnEarlierAttemptDoesNotCount) {
  Hold(kMapThere, 1);
  EXPECT_THAT(Loss().runs_kept, IsEmpty());
  EXPECT_THAT(Loss().runs_lost, ElementsAre(kMapThere));
}

TEST_F(RestartedWorkerTest, NorOneThatOthersMake) {
  Hold(kMapThere, 2);
  plan_.steps[kMapThere].worker = 1;
  EXPECT_THAT(Loss().runs_kept, IsEmpty());
  EXPECT_THAT(Loss().runs_lost, IsEmpty()) << "the other one has it";
}

TEST_F(RestartedWorkerTest, NorOneThatWaitsToBeMade) {
  Hold(kMapThere, 2);
  state_.steps[kMapThere] = WorkState::kWaiting;
  state_.run_there[kMapThere] = false;
  EXPECT_THAT(Loss().runs_kept, IsEmpty());
  EXPECT_THAT(Loss().runs_lost, IsEmpty());
}

TEST_F(RestartedWorkerTest, NorOneOfNoStep) {
  Hold(99, 1);
  Hold(-1, 1);
  EXPECT_THAT(Loss().runs_kept, IsEmpty());
}

TEST_F(RestartedWorkerTest, LosesWhatOthersHadSent) {
  const RestartLoss loss = Loss();
  ASSERT_EQ(loss.sections_lost.size(), 1u) << "once, of two pieces";
  EXPECT_EQ(loss.sections_lost[0].producer, kMapElsewhere);
  EXPECT_EQ(loss.sections_lost[0].consumer, kReaderThere);
}

TEST_F(RestartedWorkerTest, WhichNobodyMissesWhereItWasRead) {
  Finish(kReaderThere);
  const RestartLoss loss = Loss();
  EXPECT_THAT(loss.sections_lost, IsEmpty());
  EXPECT_THAT(loss.runs_lost, ElementsAre(kMapThere)) << "its part lies elsewhere";
}

TEST_F(RestartedWorkerTest, IsWorthWhatItsRunsTookThatSomebodyLacks) {
  EXPECT_EQ(RedoSeconds(plan_, state_, kRestarted), 3) << "its own reader waits";
  EXPECT_EQ(RedoSeconds(plan_, state_, 1), 3) << "so does the other's";
  Finish(kReaderThere);
  EXPECT_EQ(RedoSeconds(plan_, state_, kRestarted), 0) << "the other one has its section";
  state_.transfers[0] = WorkState::kUnderWay;
  EXPECT_EQ(RedoSeconds(plan_, state_, kRestarted), 3);
  state_.run_there[kMapThere] = false;
  EXPECT_EQ(RedoSeconds(plan_, state_, kRestarted), 0);
}

}  // namespace
}  // namespace weir::master
