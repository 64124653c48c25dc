#include "runtime/master/conduct/plan_progress.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::master {
namespace {

using planner::StepIndex;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr StepIndex kMap0 = 0;
constexpr StepIndex kMap1 = 1;
constexpr StepIndex kReduce0 = 2;
constexpr StepIndex kReduce1 = 3;
constexpr StepIndex kLast = 4;

/// Maps and reduces 0 and 1 on workers 0 and 1, and one reduce of the next layer on worker 1. Map 0
/// sends to reduce 1 in two pieces, map 1 to reduce 0, reduce 0 to the last.
planner::Plan TwoLayers() {
  planner::Plan plan;
  plan.network.num_workers = 2;
  for (const int worker : {0, 1, 0, 1, 1}) plan.steps.emplace_back().worker = worker;
  for (const StepIndex map : {kMap0, kMap1}) {
    for (const StepIndex reduce : {kReduce0, kReduce1}) plan.sections.push_back({map, reduce, 10});
  }
  for (const StepIndex reduce : {kReduce0, kReduce1}) plan.sections.push_back({reduce, kLast, 10});
  plan.transfers = {{kMap0, kReduce1, 0, 1, 0, 4, 0, 0},
                    {kMap0, kReduce1, 0, 1, 4, 6, 0, 0},
                    {kMap1, kReduce0, 1, 0, 0, 10, 0, 0},
                    {kReduce0, kLast, 0, 1, 0, 10, 0, 0}};
  plan.compute_order = {{kMap0, kReduce0}, {kMap1, kReduce1, kLast}};
  plan.send_order = {{0, 1, 3}, {2}};
  plan.receive_order = {{2}, {0, 1, 3}};
  return plan;
}

class PlanProgressTest : public ::testing::Test {
 protected:
  void Run(StepIndex step, double begin_s, double end_s, std::vector<RunSection> sections) {
    progress_.StartStep(step, 10, begin_s);
    progress_.FinishStep(step, std::move(sections), end_s);
  }
  const planner::Plan plan_ = TwoLayers();
  PlanProgress progress_{plan_};
};

TEST_F(PlanProgressTest, SectionsAreAddressedByTheirTwoSteps) {
  Run(kMap0, 0, 1, {{kReduce1, 50, 40, 80}, {kReduce0, 0, 50, 50}});
  EXPECT_EQ(progress_.SectionOf(kMap0, kReduce1).offset, 50);
  EXPECT_EQ(progress_.SectionOf(kMap0, kReduce1).unpacked_bytes, 80);
  EXPECT_EQ(progress_.SectionOf(kMap0, kReduce0).bytes, 50);
  EXPECT_EQ(progress_.SectionOf(kMap0, kLast).bytes, 0) << "the run has nothing for it";
  EXPECT_EQ(progress_.SectionOf(kMap1, kReduce1).bytes, 0) << "not published yet";
  EXPECT_THAT(progress_.ProducersOf(kReduce1), ElementsAre(kMap0, kMap1));
}

TEST_F(PlanProgressTest, BytesThatNobodyWouldReadAreRefused) {
  EXPECT_TRUE(progress_.CheckRun(kMap0, {{kReduce0, 0, 9, 9}, {kReduce1, 9, 9, 9}}).ok());
  EXPECT_TRUE(progress_.CheckRun(kMap0, {{kLast, 0, 0, 0}}).ok())
      << "an empty section loses nothing";
  EXPECT_TRUE(absl::IsInternal(progress_.CheckRun(kMap0, {{kLast, 0, 9, 9}})));
}

TEST_F(PlanProgressTest, WhatSeveralReadIsCountedOnce) {
  const std::vector<RunSection> shared = {
      {kReduce0, 32, 40, 80}, {kReduce1, 32, 40, 80}, {kLast, 72, 0, 0}};
  EXPECT_TRUE(progress_.CheckRun(kMap0, shared).ok());
  Run(kMap0, 0, 1, shared);
  EXPECT_EQ(progress_.actual().step_output_bytes[kMap0], 40);
  EXPECT_EQ(progress_.actual().step_unpacked_output_bytes[kMap0], 80);
  EXPECT_EQ(progress_.SectionOf(kMap0, kReduce0).offset, 32);
  EXPECT_EQ(progress_.SectionOf(kMap0, kReduce1).offset, 32);
}

TEST_F(PlanProgressTest, ARunStaysUntilItsLastReaderIsDone) {
  Run(kMap0, 0, 1, {});
  Run(kMap1, 0, 1, {});
  EXPECT_THAT(progress_.TakeUnread(0), IsEmpty());
  Run(kReduce0, 1, 2, {});
  EXPECT_THAT(progress_.TakeUnread(0), ElementsAre(RunName{kMap1, 1})) << "what came from worker 1";
  EXPECT_THAT(progress_.TakeUnread(1), IsEmpty()) << "reduce 1 reads both";
  Run(kReduce1, 1, 3, {});
  EXPECT_THAT(progress_.TakeUnread(0), ElementsAre(RunName{kMap0, 1}));
  EXPECT_THAT(progress_.TakeUnread(1), ElementsAre(RunName{kMap0, 1}, RunName{kMap1, 1}));
  EXPECT_THAT(progress_.TakeUnread(1), IsEmpty()) << "once";
}

TEST_F(PlanProgressTest, AWorkerIsNeededUntilItsLastStepAndTransfer) {
  for (const StepIndex step : {kMap0, kMap1, kReduce0}) Run(step, 0, 1, {});
  for (const planner::TransferIndex transfer : {0, 1, 2}) progress_.FinishTransfer(transfer, 0, 1);
  EXPECT_TRUE(progress_.Needs(0)) << "its reduce's run has not left it";
  progress_.StartTransfer(3, 1);
  EXPECT_TRUE(progress_.Needs(0));
  progress_.FinishTransfer(3, 5, 2);
  EXPECT_FALSE(progress_.Needs(0));
  EXPECT_TRUE(progress_.Needs(1)) << "two steps are not done";
}

TEST_F(PlanProgressTest, APassedTransferEndsForItsPortsWhenItPassed) {
  Run(kMap0, 0, 1, {});
  EXPECT_EQ(progress_.StartTransfer(0, 1), 1);
  progress_.PassTransfer(0, 3, 1.5);
  EXPECT_TRUE(progress_.passed(0));
  progress_.FinishTransfer(0, 8, 2);
  EXPECT_EQ(progress_.actual().transfers[0].finish_s, 1.5);
  EXPECT_EQ(progress_.actual().transfer_in_flight_bytes[0], 3);
  EXPECT_EQ(progress_.actual().makespan_s, 2);
}

TEST_F(PlanProgressTest, AttemptsCountTries) {
  EXPECT_EQ(progress_.step_attempt(kMap0), 0);
  EXPECT_EQ(progress_.StartStep(kMap0, 0, 1), 1);
  EXPECT_EQ(progress_.step_attempt(kMap0), 1);
  EXPECT_EQ(progress_.step_state(kMap0), PlanProgress::State::kUnderWay);
}

}  // namespace
}  // namespace weir::master
