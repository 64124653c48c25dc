#include "runtime/master/job/job_history.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/master/output/staged_output.h"
#include "tests/sim/memory_journal.h"
#include "tests/sim/memory_storage.h"

namespace weir::master {
namespace {

class JobHistoryTest : public ::testing::Test {
 protected:
  JobHistoryTest() {
    EXPECT_TRUE(storage_.MakeDirectory("/out").ok());
    Start(4);
  }
  void Start(std::int64_t epoch) {
    v1::JournalRecord started;
    started.mutable_master_started()->set_master_epoch(epoch);
    Append(started);
  }
  void Stop() {
    v1::JournalRecord stopped;
    stopped.mutable_master_stopped()->set_unix_ms(1);
    Append(stopped);
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
  static JobHistory Settle(Journal& journal, env::Storage& storage) {
    auto history = ReadHistory(journal);
    EXPECT_TRUE(history.ok()) << history.status();
    std::vector<SettledJob> settled;
    for (const JobHistory::Unsettled& job : history->unsettled) {
      settled.push_back(Conclude(job, SettleOutputs(storage, job), 99));
    }
    // In whichever order their file systems answer.
    std::reverse(settled.begin(), settled.end());
    TakeSettled(std::move(settled), *history);
    return *std::move(history);
  }
  JobHistory Settle() { return Settle(journal_, storage_); }
  static std::vector<std::string> Queue(const JobHistory& history) {
    std::vector<std::string> queue;
    for (const JobHistory::Waiting& job : history.queue) {
      queue.push_back(job.job_id + (job.resumed ? " (resumed)" : ""));
    }
    return queue;
  }
  sim::MemoryJournal journal_;
  sim::MemoryStorage storage_;
};

TEST_F(JobHistoryTest, EmptyJournalIsTheFirstStart) {
  sim::MemoryJournal empty;
  const auto history = ReadHistory(empty);
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
  EXPECT_EQ(Queue(history), (std::vector<std::string>{"running (resumed)", "z", "a"}));
  EXPECT_FALSE(history.queue[0].given_plan);
  ASSERT_EQ(history.jobs.size(), 4u);
  EXPECT_EQ(history.jobs[0].state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(history.jobs[2].state(), v1::JOB_STATE_CANCELLED);
  ASSERT_EQ(history.endings.size(), 1u);
  EXPECT_EQ(history.endings[0].job_id(), "cancelled");
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

TEST_F(JobHistoryTest, WhatHadBegunIsTakenUpAgainFirstAndLeavesNoStaging) {
  Accept("waiting");
  Accept("planning");
  Accept("running");
  Accept("committing");
  Reach("running", v1::JOB_STATE_RUNNING);
  Reach("planning", v1::JOB_STATE_PLANNING);
  Reach("committing", v1::JOB_STATE_COMMITTING);
  const OutputPlaces places("/out/running", "running");
  ASSERT_TRUE(StageOutput(storage_, places, false).ok());
  const JobHistory history = Settle();
  EXPECT_EQ(history.last_master_epoch, 4);
  EXPECT_EQ(Queue(history), (std::vector<std::string>{"planning (resumed)", "running (resumed)",
                                                      "committing (resumed)", "waiting"}));
  for (const v1::JobStatus& job : history.jobs) {
    EXPECT_EQ(job.state(), v1::JOB_STATE_QUEUED);
    EXPECT_FALSE(job.has_error() && !job.error().code().empty());
  }
  EXPECT_TRUE(history.endings.empty());
  EXPECT_FALSE(storage_.Stat(places.staging).ok());
}

TEST_F(JobHistoryTest, WhatAJobHadLostIsKnownHoweverItGoesOn) {
  for (const std::string id : {"taken up", "being ended"}) {
    Accept(id);
    Reach(id, v1::JOB_STATE_PLANNING);
    v1::JournalRecord planned;
    planned.set_job_id(id);
    for (const char* worker : {"w1", "w2"}) {
      v1::WorkerLoss& loss = *planned.mutable_job_planned()->add_losses();
      loss.set_worker(worker);
      planned.mutable_job_planned()->mutable_plan()->add_worker_names(worker);
      Append(planned);
    }
    Reach(id, v1::JOB_STATE_RUNNING);
  }
  Reach("being ended", v1::JOB_STATE_ENDING, "CANCELLED");
  const JobHistory history = Settle();
  ASSERT_EQ(history.jobs.size(), 2u);
  for (const v1::JobStatus& job : history.jobs) {
    ASSERT_EQ(job.losses_size(), 2) << job.job_id();
    EXPECT_EQ(job.losses(0).worker(), "w1");
    EXPECT_EQ(job.losses(1).worker(), "w2");
  }
  ASSERT_EQ(history.endings.size(), 1u);
  EXPECT_EQ(history.endings[0].job_ended().status().losses_size(), 2);
}

TEST_F(JobHistoryTest, WhatALaterLifeStagedIsGoneToo) {
  Accept("a");
  Reach("a", v1::JOB_STATE_RUNNING);
  Start(5);
  Reach("a", v1::JOB_STATE_RUNNING);
  const OutputPlaces places("/out/a", "a", 5);
  EXPECT_NE(places.staging, OutputPlaces("/out/a", "a").staging)
      << "who writes there still, for the master before, writes nowhere";
  ASSERT_TRUE(StageOutput(storage_, places, false).ok());
  EXPECT_EQ(Queue(Settle()), std::vector<std::string>{"a (resumed)"});
  EXPECT_FALSE(storage_.Stat(places.staging).ok());
}

TEST_F(JobHistoryTest, AJobThatEndsItsMasterEachTimeFailsByName) {
  Accept("deadly");
  Accept("patient");
  for (int start = 0; start < limits::kMasterEndsPerJobMax; ++start) {
    if (start > 0) Start(4 + start);
    EXPECT_EQ(Settle().endings.size(), 0u) << start;
    Reach("deadly", v1::JOB_STATE_PLANNING);
    Reach("deadly", v1::JOB_STATE_RUNNING);
  }
  const JobHistory history = Settle();
  EXPECT_EQ(Queue(history), std::vector<std::string>{"patient"});
  EXPECT_EQ(history.jobs[0].state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(history.jobs[0].error().code(), job_error::kMasterRestarted);
  EXPECT_THAT(history.jobs[0].error().message(), testing::HasSubstr("3 masters ended"));
  EXPECT_EQ(history.jobs[0].ended_unix_ms(), 99);
  EXPECT_EQ(history.endings.size(), 1u);
}

TEST_F(JobHistoryTest, AMasterThatWasShutDownDoesNotCountAgainstTheJob) {
  Accept("a");
  for (int start = 0; start < 3 * limits::kMasterEndsPerJobMax; ++start) {
    if (start > 0) Start(4 + start);
    Reach("a", v1::JOB_STATE_RUNNING);
    Stop();
  }
  EXPECT_EQ(Queue(Settle()), std::vector<std::string>{"a (resumed)"});
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
  ASSERT_TRUE(storage_.WriteSized(places.staging + "/part-00000.1.1", 5).ok());
  CommittedPart part;
  part.part.set_bytes(5);
  ASSERT_TRUE(CommitOutput(storage_, places, false, {"1", "a", "p", {}}, {part}).ok());
  const JobHistory history = Settle();
  EXPECT_EQ(history.jobs[0].state(), v1::JOB_STATE_SUCCEEDED);
  ASSERT_EQ(history.jobs[0].parts_size(), 1);
  EXPECT_EQ(history.jobs[0].parts(0).bytes(), 5);
}

TEST_F(JobHistoryTest, ACommitThatWasCutShortIsUndoneWhereverItStood) {
  // A crash at every file operation of a commit that replaces an old output.
  for (int crash = 0;; ++crash) {
    sim::MemoryStorage storage;
    sim::MemoryJournal journal;
    ASSERT_TRUE(storage.MakeDirectory("/out").ok());
    const auto publish = [&storage](const std::string& id, std::int64_t bytes) {
      const OutputPlaces places("/out/a", id);
      CommittedPart part;
      part.part.set_bytes(bytes);
      return StageOutput(storage, places, true).ok() &&
             storage.WriteSized(places.staging + "/part-00000.1.1", bytes).ok() &&
             CommitOutput(storage, places, true, {"1", id, "p", {}}, {part}).ok();
    };
    ASSERT_TRUE(publish("old", 3));
    storage.SetGate([left = crash](const char*, const std::string&) mutable {
      return left-- > 0 ? absl::OkStatus() : absl::UnavailableError("crash");
    });
    const bool whole = publish("a", 5);
    storage.SetGate(nullptr);
    std::vector<v1::JournalRecord> records(2);
    records[0].set_job_id("a");
    records[0].mutable_job_accepted()->mutable_spec()->set_output("/out/a");
    records[1].set_job_id("a");
    records[1].mutable_job_state_changed()->set_state(v1::JOB_STATE_COMMITTING);
    ASSERT_TRUE(journal.Append(records).ok());
    const JobHistory history = Settle(journal, storage);
    const auto part = storage.Stat("/out/a/part-00000");
    ASSERT_TRUE(part.ok()) << crash;
    // The old one is back and the job runs again, or the new one is there: never neither, nor half.
    EXPECT_EQ(part->bytes, history.queue.empty() ? 5 : 3) << crash;
    EXPECT_EQ(history.jobs[0].state(),
              history.queue.empty() ? v1::JOB_STATE_SUCCEEDED : v1::JOB_STATE_QUEUED);
    for (const std::string& path : storage.Paths()) {
      EXPECT_FALSE(absl::StrContains(path, ".weir-")) << path << " after " << crash;
    }
    if (whole) break;
  }
}

TEST_F(JobHistoryTest, NoOutputIsLookedAtWhileTheJournalIsRead) {
  for (const std::string id : {"running", "ending", "waiting"}) Accept(id);
  Reach("running", v1::JOB_STATE_RUNNING);
  Reach("ending", v1::JOB_STATE_ENDING, "CANCELLED");
  const auto history = ReadHistory(journal_);
  ASSERT_TRUE(history.ok());
  EXPECT_EQ(Queue(*history), std::vector<std::string>{"waiting"});
  ASSERT_EQ(history->unsettled.size(), 2u);
  EXPECT_TRUE(history->unsettled[0].again);
  EXPECT_FALSE(history->unsettled[1].again);
  EXPECT_EQ(history->jobs[0].state(), v1::JOB_STATE_RUNNING) << "as long as nobody knows better";
}

TEST_F(JobHistoryTest, WhoseOutputCannotBeLookedAtIsNotRunAgain) {
  Accept("a");
  Reach("a", v1::JOB_STATE_COMMITTING);
  const auto history = ReadHistory(journal_);
  ASSERT_TRUE(history.ok());
  const SettledJob settled =
      Conclude(history->unsettled.at(0), absl::DeadlineExceededError("no answer within 10m"), 99);
  EXPECT_FALSE(settled.again) << "it may have published";
  EXPECT_EQ(settled.status.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(settled.status.error().code(), job_error::kMasterRestarted);
  EXPECT_THAT(settled.status.error().message(), testing::HasSubstr("no answer within 10m"));
  EXPECT_THAT(settled.status.error().advice(), testing::HasSubstr("see whether /out/a is there"));
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
