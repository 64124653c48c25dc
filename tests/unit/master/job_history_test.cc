#include "runtime/master/job/job_history.h"

#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/output/staged_output.h"
#include "tests/sim/memory_journal.h"
#include "tests/sim/memory_storage.h"

namespace weir::master {
namespace {

class JobHistoryTest : public ::testing::Test {
 protected:
  JobHistoryTest() {
    EXPECT_TRUE(storage_.MakeDirectory("/out").ok());
    v1::JournalRecord started;
    started.mutable_master_started()->set_master_epoch(4);
    Append(started);
  }
  void Append(const v1::JournalRecord& record) { ASSERT_TRUE(journal_.Append({record}).ok()); }
  void Accept(const std::string& id) {
    v1::JournalRecord record;
    record.set_job_id(id);
    record.mutable_job_accepted()->mutable_spec()->set_output("/out/" + id);
    Append(record);
  }
  void Reach(const std::string& id, v1::JobState state, const std::string& code = "") {
    v1::JournalRecord record;
    record.set_job_id(id);
    record.mutable_job_state_changed()->set_state(state);
    if (!code.empty())
      *record.mutable_job_state_changed()->mutable_error() = MakeJobError(code, "x");
    Append(record);
  }
  JobHistory Settle() {
    auto history = SettleHistory(journal_, storage_, 99);
    EXPECT_TRUE(history.ok()) << history.status();
    return *std::move(history);
  }
  sim::MemoryJournal journal_;
  sim::MemoryStorage storage_;
};

TEST_F(JobHistoryTest, EmptyJournalIsTheFirstStart) {
  sim::MemoryJournal empty;
  const auto history = SettleHistory(empty, storage_, 0);
  ASSERT_TRUE(history.ok());
  EXPECT_EQ(history->last_master_epoch, 0);
  EXPECT_TRUE(history->jobs.empty());
}

TEST_F(JobHistoryTest, JobsThatHadNotBegunWaitInTheirOrder) {
  Accept("z");
  Accept("running");
  Accept("cancelled");
  Accept("a");
  Reach("running", v1::JOB_STATE_RUNNING);
  Reach("cancelled", v1::JOB_STATE_ENDING, "CANCELLED");
  const JobHistory history = Settle();
  ASSERT_EQ(history.queue.size(), 2u);
  EXPECT_EQ(history.queue[0].job_id, "z");
  EXPECT_EQ(history.queue[1].job_id, "a");
  EXPECT_FALSE(history.queue[0].given_plan);
  ASSERT_EQ(history.jobs.size(), 4u);
  EXPECT_EQ(history.jobs[0].state(), v1::JOB_STATE_QUEUED);
  EXPECT_FALSE(history.jobs[0].has_error());
  EXPECT_EQ(history.endings.size(), 2u) << "of the other two";
}

TEST_F(JobHistoryTest, AWaitingJobKeepsThePlanItWasGiven) {
  for (const bool kept : {true, false}) {
    const std::string id = kept ? "kept" : "of an older version";
    v1::JournalRecord accepted;
    accepted.set_job_id(id);
    accepted.mutable_job_accepted()->mutable_spec()->set_output("/out/" + id);
    accepted.mutable_job_accepted()->mutable_spec()->mutable_plan()->set_plan_id("p-1");
    Append(accepted);
    if (!kept) continue;
    v1::JournalRecord given;
    given.set_job_id(id);
    given.mutable_job_plan_given()->mutable_plan()->add_worker_names("w");
    Append(given);
  }
  const JobHistory history = Settle();
  ASSERT_EQ(history.queue.size(), 1u);
  EXPECT_EQ(history.queue[0].job_id, "kept");
  ASSERT_TRUE(history.queue[0].given_plan);
  EXPECT_EQ(history.queue[0].given_plan->worker_names(0), "w");
  EXPECT_EQ(history.jobs[1].state(), v1::JOB_STATE_FAILED) << "another plan is not what was asked";
  EXPECT_EQ(history.jobs[1].error().code(), job_error::kMasterRestarted);
}

TEST_F(JobHistoryTest, InterruptedJobsFailWithTheirNameAndLeaveNoStaging) {
  Accept("planning");
  Reach("planning", v1::JOB_STATE_PLANNING);
  Accept("running");
  Reach("running", v1::JOB_STATE_RUNNING);
  const OutputPlaces places("/out/running", "running");
  ASSERT_TRUE(StageOutput(storage_, places, false).ok());
  const JobHistory history = Settle();
  EXPECT_EQ(history.last_master_epoch, 4);
  ASSERT_EQ(history.jobs.size(), 2u);
  for (const v1::JobStatus& job : history.jobs) {
    EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
    EXPECT_EQ(job.error().code(), job_error::kMasterRestarted);
    EXPECT_EQ(job.ended_unix_ms(), 99);
  }
  EXPECT_EQ(history.endings.size(), 2u);
  EXPECT_FALSE(storage_.Stat(places.staging).ok());
}

TEST_F(JobHistoryTest, JobThatWasEndingKeepsItsReason) {
  Accept("a");
  Reach("a", v1::JOB_STATE_ENDING, "WORKER_LOST");
  EXPECT_EQ(Settle().jobs[0].error().code(), "WORKER_LOST");
}

TEST_F(JobHistoryTest, PublishedOutputMeansSuccess) {
  Accept("a");
  Reach("a", v1::JOB_STATE_COMMITTING);
  const OutputPlaces places("/out/a", "a");
  ASSERT_TRUE(StageOutput(storage_, places, false).ok());
  ASSERT_TRUE(storage_.WriteSized(places.staging + "/part-00000.1", 5).ok());
  CommittedPart part;
  part.part.set_bytes(5);
  ASSERT_TRUE(CommitOutput(storage_, places, false, {"1", "a", "p", {}}, {part}).ok());
  const JobHistory history = Settle();
  EXPECT_EQ(history.jobs[0].state(), v1::JOB_STATE_SUCCEEDED);
  ASSERT_EQ(history.jobs[0].parts_size(), 1);
  EXPECT_EQ(history.jobs[0].parts(0).bytes(), 5);
}

TEST_F(JobHistoryTest, TheLastCalibrationCounts) {
  EXPECT_FALSE(Settle().network_measured);
  for (const double rate : {1e6, 2e6}) {
    v1::JournalRecord record;
    record.mutable_network_measured()->set_channel_bytes_per_s(rate);
    Append(record);
  }
  EXPECT_EQ(Settle().network_measured->channel_bytes_per_s(), 2e6);
}

TEST_F(JobHistoryTest, EndedJobsAreTakenAsTheyEnded) {
  Accept("a");
  v1::JournalRecord ended;
  ended.set_job_id("a");
  ended.mutable_job_ended()->mutable_status()->set_job_id("a");
  ended.mutable_job_ended()->mutable_status()->set_state(v1::JOB_STATE_SUCCEEDED);
  Append(ended);
  const JobHistory history = Settle();
  EXPECT_EQ(history.jobs[0].state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(history.endings.empty());
}

}  // namespace
}  // namespace weir::master
