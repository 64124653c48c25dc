#include "runtime/master/resume/resumed_run.h"

#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/run_id.h"
#include "runtime/master/resume/journalled_run.h"

namespace weir::master {
namespace {

using planner::StepIndex;
using planner::WorkState;

constexpr StepIndex kFirstMap = 0;
constexpr StepIndex kOtherMap = 1;
constexpr StepIndex kFirstReader = 2;
constexpr StepIndex kOtherReader = 3;

/// Maps and reduces 0 and 1 on workers 0 and 1; reduces make parts.
planner::Plan ShuffleOfTwo() {
  planner::Plan plan;
  plan.network.num_workers = 2;
  for (const int worker : {0, 1, 0, 1}) plan.steps.emplace_back().worker = worker;
  for (const StepIndex map : {kFirstMap, kOtherMap}) {
    for (const StepIndex reduce : {kFirstReader, kOtherReader})
      plan.sections.push_back({map, reduce, 10});
  }
  plan.transfers = {{kFirstMap, kOtherReader, 0, 1, 0, 10, 0, 0},
                    {kOtherMap, kFirstReader, 1, 0, 0, 10, 0, 0}};
  return plan;
}

v1::StepResult ResultOf(StepIndex step, int attempt, StepIndex reader = kFirstReader) {
  v1::StepResult result;
  result.set_step(step);
  result.set_run_s(2);
  result.mutable_run()->set_run_id(RunIdOf(step, attempt));
  result.mutable_run()->set_bytes(9);
  v1::RunSection& section = *result.mutable_run()->add_sections();
  section.set_consumer_step(reader);
  section.set_bytes(9);
  return result;
}

class ResumedRunTest : public ::testing::Test {
 protected:
  void Hold(int worker, const v1::StepResult& result, int attempt, int plan_edit = 0) {
    v1::HeldRun& run = *held_[worker].add_runs();
    run.set_attempt(attempt);
    run.set_plan_edit(plan_edit);
    *run.mutable_result() = result;
  }
  void Commit(const v1::StepResult& result, int attempt, double ended_s) {
    v1::JournalRecord::StepCommitted& committed = run_.committed[result.step()];
    committed.set_step(result.step());
    committed.set_attempt(attempt);
    committed.set_ended_s(ended_s);
    *committed.mutable_result() = result;
  }
  ResumedRun Resume(double now_s = 10) {
    ResumedRun resumed = ResumeRun(plan_, run_, {&held_[0], &held_[1]}, now_s);
    EXPECT_TRUE(planner::CheckState(plan_, resumed.state).ok())
        << planner::CheckState(plan_, resumed.state);
    return resumed;
  }
  static bool Done(const ResumedRun& resumed, StepIndex step) {
    return resumed.state.steps[planner::At(step)] == WorkState::kDone;
  }

  const planner::Plan plan_ = ShuffleOfTwo();
  JournalledRun run_;
  v1::HeldJob held_[2];
};

TEST_F(ResumedRunTest, AStepIsDoneWhereItsWorkerHoldsItsRun) {
  Hold(0, ResultOf(kFirstMap, 1), 1);
  Commit(ResultOf(kFirstMap, 1), 1, 4);
  Hold(1, ResultOf(kOtherMap, 3), 3);  // nobody heard of it
  const ResumedRun resumed = Resume();
  EXPECT_TRUE(Done(resumed, kFirstMap) && Done(resumed, kOtherMap));
  EXPECT_FALSE(Done(resumed, kFirstReader) || Done(resumed, kOtherReader));
  EXPECT_EQ(resumed.runs_kept, 2);
  EXPECT_TRUE(resumed.state.run_there[kFirstMap] && resumed.state.run_there[kOtherMap]);
  EXPECT_EQ(resumed.state.step_began_s[kFirstMap], 2);
  EXPECT_EQ(resumed.state.step_ended_s[kFirstMap], 4);
  EXPECT_EQ(resumed.state.step_ended_s[kOtherMap], 10);
  EXPECT_EQ(resumed.steps[kOtherMap].attempt, 3);
}

TEST_F(ResumedRunTest, WhatWasCommittedAndIsNotHeldIsDoneWithoutItsRun) {
  Commit(ResultOf(kFirstMap, 1), 1, 4);
  const ResumedRun resumed = Resume();
  EXPECT_TRUE(Done(resumed, kFirstMap));
  EXPECT_FALSE(resumed.state.run_there[kFirstMap]);
  EXPECT_EQ(resumed.runs_kept, 0);
}

TEST_F(ResumedRunTest, PartsWentWithTheirDirectory) {
  v1::StepResult part;
  part.set_step(kFirstReader);
  part.mutable_part()->set_bytes(5);
  Commit(part, 2, 4);
  const ResumedRun resumed = Resume();
  EXPECT_FALSE(Done(resumed, kFirstReader));
  EXPECT_EQ(resumed.steps[kFirstReader].attempt, 2) << "the next is the third";
}

TEST_F(ResumedRunTest, RunsOfBeforeTheEditThatHadTheirStepDoneAgainDoNotCount) {
  run_.redone_by_edit[kFirstMap] = 2;
  Hold(0, ResultOf(kFirstMap, 1), 1, /*plan_edit=*/1);
  EXPECT_FALSE(Done(Resume(), kFirstMap));
  EXPECT_EQ(Resume().steps[kFirstMap].attempt, 1) << "its file may lie there";
  Hold(0, ResultOf(kFirstMap, 2), 2, /*plan_edit=*/2);
  EXPECT_TRUE(Done(Resume(), kFirstMap));
  EXPECT_EQ(Resume().steps[kFirstMap].result.run().run_id(), "0.2");
}

TEST_F(ResumedRunTest, StaleAttemptsDoNotCount) {
  run_.stale_attempts[kFirstMap] = 2;
  Hold(0, ResultOf(kFirstMap, 2), 2);
  EXPECT_FALSE(Done(Resume(), kFirstMap)) << "of what the step was before it was cut, say";
  Hold(0, ResultOf(kFirstMap, 3), 3);
  EXPECT_TRUE(Done(Resume(), kFirstMap));
  run_.stale_attempts[kFirstMap] = 7;
  EXPECT_EQ(Resume().steps[kFirstMap].attempt, 7) << "whoever is not there may hold its run";
}

TEST_F(ResumedRunTest, AllAttemptsOfWhatIsNotDoneAreStaleThen) {
  Hold(0, ResultOf(kFirstMap, 2), 2);
  Hold(0, ResultOf(kOtherMap, 4), 4);  // of the other worker's step
  const ResumedRun resumed = Resume();
  EXPECT_THAT(StaleAttempts(resumed.steps, resumed.state), testing::ElementsAre(0, 4, 0, 0));
}

TEST_F(ResumedRunTest, NobodyElsesRunCountsNorOneThatDoesNotFit) {
  Hold(1, ResultOf(kFirstMap, 1), 1);
  EXPECT_FALSE(Done(Resume(), kFirstMap)) << "made by whom the plan does not name";
  Hold(0, ResultOf(kFirstMap, 1, /*reader=*/kOtherMap), 1);
  EXPECT_FALSE(Done(Resume(), kFirstMap)) << "for a step that reads nothing of it";
  v1::StepResult other = ResultOf(kFirstMap, 1);
  other.mutable_run()->set_run_id("7.1");
  Hold(0, other, 1);
  EXPECT_FALSE(Done(Resume(), kFirstMap)) << "another run";
  Hold(0, ResultOf(99, 1), 1);
  Commit(ResultOf(kFirstMap, 1), 1, 4);
  Hold(0, ResultOf(kFirstMap, 2), 2);
  const ResumedRun resumed = Resume();
  EXPECT_TRUE(Done(resumed, kFirstMap));
  EXPECT_FALSE(resumed.state.run_there[kFirstMap]) << "another attempt was committed";
}

TEST_F(ResumedRunTest, ARunWithSectionsForNobodyCounts) {
  v1::StepResult result = ResultOf(kFirstMap, 1);
  v1::RunSection& section = *result.mutable_run()->add_sections();
  section.set_consumer_step(planner::kNoIndex);
  section.set_offset(9);
  section.set_bytes(5);
  result.mutable_run()->set_bytes(14);
  Hold(0, result, 1);
  EXPECT_TRUE(Done(Resume(), kFirstMap));
}

TEST_F(ResumedRunTest, AClockThatWentBackDoesNotMakeTheEndComeBeforeTheBeginning) {
  Hold(0, ResultOf(kFirstMap, 1), 1);
  Commit(ResultOf(kFirstMap, 1), 1, 40);
  EXPECT_EQ(Resume(-5).state.now_s, 40);
}

class JournalledRunTest : public ::testing::Test {
 protected:
  v1::JournalRecord::JobPlanned& Plan(std::int64_t epoch, int edit = 0, bool resumed = false) {
    v1::JournalRecord::JobPlanned& planned = *records_.emplace_back().mutable_job_planned();
    planned.set_plan_epoch(epoch);
    planned.set_plan_edit(edit);
    planned.set_resumed(resumed);
    planned.set_master_epoch(5);
    planned.mutable_plan()->add_steps()->set_kind(v1::STEP_KIND_MAP);
    return planned;
  }
  void Commit(std::int64_t epoch, int step, int attempt = 1) {
    v1::JournalRecord::StepCommitted& committed = *records_.emplace_back().mutable_step_committed();
    committed.set_plan_epoch(epoch);
    committed.set_step(step);
    committed.set_attempt(attempt);
  }
  void Run(std::int64_t unix_ms) {
    v1::JournalRecord::JobStateChanged& change =
        *records_.emplace_back().mutable_job_state_changed();
    change.set_state(v1::JOB_STATE_RUNNING);
    change.set_unix_ms(unix_ms);
  }
  std::vector<v1::JournalRecord> records_;
};

TEST_F(JournalledRunTest, TheLastPlanCountsWithItsEdits) {
  EXPECT_FALSE(LastRun(records_));
  Plan(1);
  Run(100);
  Commit(1, 7);
  Plan(2);
  Run(200);
  Commit(2, 0);
  Commit(2, 1);
  Plan(2, 1).add_steps_redone(1);
  const std::optional<JournalledRun> run = LastRun(records_);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->plan_epoch, 2);
  EXPECT_EQ(run->master_epoch, 5);
  EXPECT_EQ(run->began_unix_ms, 200);
  EXPECT_EQ(run->committed.size(), 1);
  EXPECT_TRUE(run->committed.contains(0));
  EXPECT_EQ(run->redone_by_edit.at(1), 1);
}

TEST_F(JournalledRunTest, APlanThatGoesOnKeepsWhatIsDone) {
  Plan(1);
  Run(100);
  Commit(1, 0);
  Commit(1, 1);
  Plan(1, 1).add_steps_redone(5);
  v1::JournalRecord::JobPlanned& resumed = Plan(2, 0, /*resumed=*/true);
  resumed.add_steps_redone(1);
  for (const int attempt : {0, 3, 0}) resumed.add_stale_attempts(attempt);
  Run(300);
  Commit(2, 2);
  const std::optional<JournalledRun> run = LastRun(records_);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->plan_epoch, 2);
  EXPECT_EQ(run->began_unix_ms, 100);
  EXPECT_TRUE(run->committed.contains(0) && run->committed.contains(2));
  EXPECT_FALSE(run->committed.contains(1));
  EXPECT_TRUE(run->redone_by_edit.empty());
  EXPECT_THAT(run->stale_attempts, testing::ElementsAre(testing::Pair(1, 3)));
  Plan(2, 1).add_steps_redone(2);
  EXPECT_THAT(LastRun(records_)->stale_attempts, testing::SizeIs(1)) << "edits leave them";
  Plan(3);
  EXPECT_THAT(LastRun(records_)->stale_attempts, testing::IsEmpty()) << "nothing of before counts";
}

TEST_F(JournalledRunTest, LoopsAndPlansOfOlderVersionsAreNotGoneOnWith) {
  Plan(1).mutable_plan()->add_steps()->set_kind(v1::STEP_KIND_ITERATE);
  EXPECT_FALSE(LastRun(records_));
  Plan(2).set_master_epoch(0);
  EXPECT_FALSE(LastRun(records_));
  Plan(3).mutable_plan()->add_steps()->set_kind(v1::STEP_KIND_COMBINE);
  EXPECT_TRUE(LastRun(records_)) << "a tree";
}

}  // namespace
}  // namespace weir::master
