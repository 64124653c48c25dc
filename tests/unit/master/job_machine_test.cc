#include "runtime/master/job/job_machine.h"

#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"

namespace weir::master {
namespace {

using Actions = std::vector<JobAction>;
using Event = std::function<Actions(JobMachine&)>;

v1::JobError Error(const char* code) { return MakeJobError(code, "because"); }

const std::vector<std::pair<std::string, Event>>& HappyPath() {
  static const std::vector<std::pair<std::string, Event>> events = {
      {"Begin", [](JobMachine& m) { return m.Begin(); }},
      {"Listed", [](JobMachine& m) { return m.Listed(); }},
      {"Sampled", [](JobMachine& m) { return m.Sampled(); }},
      {"Planned", [](JobMachine& m) { return m.Planned(); }},
      {"Staged", [](JobMachine& m) { return m.Staged(); }},
      {"Prepared", [](JobMachine& m) { return m.Prepared(); }},
      {"Ran", [](JobMachine& m) { return m.Ran(); }},
      {"Committed", [](JobMachine& m) { return m.Committed(); }},
      {"Released", [](JobMachine& m) { return m.Released(); }},
  };
  return events;
}

/// The machine after the first `n` events of the happy path.
JobMachine After(std::size_t n) {
  JobMachine machine;
  for (std::size_t i = 0; i < n; ++i) HappyPath()[i].second(machine);
  return machine;
}

TEST(JobMachineTest, SuccessJournalsEveryStateBeforeItActs) {
  JobMachine m;
  EXPECT_EQ(m.state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(m.Begin(), (Actions{JobAction::kJournal, JobAction::kList}));
  EXPECT_EQ(m.Listed(), Actions{JobAction::kSample});
  EXPECT_EQ(m.Sampled(), Actions{JobAction::kPlan});
  EXPECT_EQ(m.Planned(), (Actions{JobAction::kJournalPlan, JobAction::kStage}));
  EXPECT_EQ(m.Staged(), Actions{JobAction::kPrepare});
  EXPECT_EQ(m.state(), v1::JOB_STATE_PLANNING);
  EXPECT_EQ(m.Prepared(), (Actions{JobAction::kJournal, JobAction::kConduct}));
  EXPECT_EQ(m.state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(m.Ran(), (Actions{JobAction::kJournal, JobAction::kCommit}));
  EXPECT_EQ(m.state(), v1::JOB_STATE_COMMITTING);
  EXPECT_EQ(m.Committed(), Actions{JobAction::kRelease});
  EXPECT_EQ(m.Released(), Actions{JobAction::kFinish});
  EXPECT_EQ(m.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(m.terminal());
}

TEST(JobMachineTest, EventsOutOfTurnAskForNothing) {
  for (std::size_t n = 0; n <= HappyPath().size(); ++n) {
    for (std::size_t e = 0; e < HappyPath().size(); ++e) {
      if (e == n) continue;
      JobMachine machine = After(n);
      const v1::JobState before = machine.state();
      EXPECT_TRUE(HappyPath()[e].second(machine).empty()) << HappyPath()[e].first << " after " << n;
      EXPECT_EQ(machine.state(), before);
    }
  }
}

TEST(JobMachineTest, AWorkerLostBeforeTheRunIsPlannedAround) {
  JobMachine planning = After(3);
  EXPECT_EQ(planning.WorkerLost(), Actions{JobAction::kPlan});
  EXPECT_EQ(planning.Planned(), (Actions{JobAction::kJournalPlan, JobAction::kStage}));

  JobMachine staging = After(4);
  EXPECT_TRUE(staging.WorkerLost().empty()) << "what is staged must be known first";
  EXPECT_EQ(staging.Staged(), Actions{JobAction::kPlan});
  EXPECT_FALSE(staging.preparing());
  EXPECT_EQ(staging.Planned(), (Actions{JobAction::kJournalPlan, JobAction::kPrepare}))
      << "staged once";
  EXPECT_TRUE(staging.preparing());

  JobMachine preparing = After(5);
  EXPECT_EQ(preparing.WorkerLost(), Actions{JobAction::kPlan});
  EXPECT_TRUE(preparing.Prepared().empty()) << "for a plan that is dropped";
  EXPECT_EQ(preparing.WorkerLost(), Actions{JobAction::kPlan}) << "another one";
  EXPECT_EQ(preparing.Planned(), (Actions{JobAction::kJournalPlan, JobAction::kPrepare}));
  EXPECT_EQ(preparing.Prepared(), (Actions{JobAction::kJournal, JobAction::kConduct}));

  for (const std::size_t n : {0, 1, 2, 7, 8, 9}) {
    JobMachine other = After(n);
    EXPECT_TRUE(other.WorkerLost().empty()) << n;
  }
}

TEST(JobMachineTest, AWorkerLostInTheRunBringsAnotherPlan) {
  JobMachine m = After(6);
  for (int loss = 0; loss < 3; ++loss) {
    EXPECT_EQ(m.WorkerLost(),
              (Actions{JobAction::kStopPlan, JobAction::kJournal, JobAction::kPlan}));
    EXPECT_EQ(m.state(), v1::JOB_STATE_PLANNING);
    EXPECT_TRUE(m.Ran().empty()) << "of the plan that was stopped";
    EXPECT_EQ(m.Planned(), (Actions{JobAction::kJournalPlan, JobAction::kPrepare}))
        << "staged once";
    EXPECT_EQ(m.Prepared(), (Actions{JobAction::kJournal, JobAction::kConduct}));
    EXPECT_EQ(m.state(), v1::JOB_STATE_RUNNING);
  }
  EXPECT_EQ(m.Ran(), (Actions{JobAction::kJournal, JobAction::kCommit}));

  JobMachine ending = After(6);
  ending.WorkerLost();
  EXPECT_EQ(ending.Fail(Error("NO_WORKERS")),
            (Actions{JobAction::kStop, JobAction::kJournal, JobAction::kRelease}));
  EXPECT_TRUE(ending.WorkerLost().empty());
  EXPECT_TRUE(ending.Planned().empty());
}

TEST(JobMachineTest, APartThatIsRefusedAtTheCommitBringsAnotherPlan) {
  for (const std::size_t n : {0, 1, 2, 3, 4, 5, 6, 8, 9}) {
    JobMachine other = After(n);
    EXPECT_TRUE(other.PartRefused().empty()) << n;
  }
  JobMachine m = After(7);
  EXPECT_EQ(m.PartRefused(),
            (Actions{JobAction::kStopPlan, JobAction::kJournal, JobAction::kPlan}));
  EXPECT_EQ(m.state(), v1::JOB_STATE_PLANNING);
  EXPECT_TRUE(m.can_end());
  EXPECT_TRUE(m.Committed().empty()) << "of the plan that was stopped";
  EXPECT_EQ(m.Planned(), (Actions{JobAction::kJournalPlan, JobAction::kPrepare})) << "staged once";
  EXPECT_EQ(m.Prepared(), (Actions{JobAction::kJournal, JobAction::kConduct}));
  EXPECT_EQ(m.Ran(), (Actions{JobAction::kJournal, JobAction::kCommit}));
  EXPECT_EQ(m.Committed(), Actions{JobAction::kRelease});
}

TEST(JobMachineTest, FailureReleasesDiscardsAndKeepsTheFirstReason) {
  for (std::size_t n = 1; n <= 6; ++n) {
    JobMachine m = After(n);
    EXPECT_EQ(m.Fail(Error("FIRST")),
              (Actions{JobAction::kStop, JobAction::kJournal, JobAction::kRelease}))
        << n;
    EXPECT_EQ(m.state(), v1::JOB_STATE_ENDING);
    EXPECT_TRUE(m.Fail(Error("SECOND")).empty());
    EXPECT_TRUE(m.Cancel(Error("THIRD")).empty());
    EXPECT_EQ(m.Released(), Actions{JobAction::kDiscard});
    EXPECT_EQ(m.Discarded(), Actions{JobAction::kFinish});
    EXPECT_EQ(m.state(), v1::JOB_STATE_FAILED);
    EXPECT_EQ(m.error().code(), "FIRST");
  }
}

TEST(JobMachineTest, LateWorkOfAnEndingJobIsIgnored) {
  for (std::size_t n = 1; n <= 6; ++n) {
    JobMachine m = After(n);
    m.Cancel(Error("CANCELLED"));
    EXPECT_TRUE(HappyPath()[n].second(m).empty());
    m.Released();
    m.Discarded();
    EXPECT_EQ(m.state(), v1::JOB_STATE_CANCELLED);
  }
}

TEST(JobMachineTest, QueuedJobEndsAtOnce) {
  JobMachine m;
  EXPECT_EQ(m.Cancel(Error("CANCELLED")), Actions{JobAction::kFinish});
  EXPECT_EQ(m.state(), v1::JOB_STATE_CANCELLED);
  EXPECT_TRUE(m.Begin().empty());
}

TEST(JobMachineTest, NothingButTheCommitDecidesOnceItIsUnderWay) {
  JobMachine m = After(7);
  EXPECT_FALSE(m.can_end());
  EXPECT_TRUE(m.Fail(Error("LOST")).empty());
  EXPECT_TRUE(m.Cancel(Error("CANCELLED")).empty());
  EXPECT_EQ(m.CommitFailed(Error("DISK_FULL")),
            (Actions{JobAction::kStop, JobAction::kJournal, JobAction::kRelease}));
  EXPECT_TRUE(m.Committed().empty());
  EXPECT_EQ(m.error().code(), "DISK_FULL");
}

}  // namespace
}  // namespace weir::master
