// A master whose files lie on disks that answer late or never, on virtual time.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/rpc/not_ready.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

class SlowStorageTest : public MasterTest {
 protected:
  SlowStorageTest() : MasterTest(2) { AddWorkers(2); }
  /// The first `operation` at this path takes so long, while everything else goes on.
  void Hang(const std::string& operation, const std::string& path, absl::Duration takes) {
    world_->storage().SetGate([this, operation, path, takes, hung = false](
                                  const char* called, const std::string& at) mutable {
      if (!hung && at == path && operation == called) {
        hung = true;
        RunFor(takes);
      }
      return absl::OkStatus();
    });
  }
  std::string SubmitTo(const std::string& output) {
    v1::JobSpec spec = Spec();
    spec.set_output(output);
    const auto id = Submit(spec);
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  void RunUntil(const std::string& id, v1::JobState state) {
    for (int i = 0; i < 100'000 && StatusOf(id).state() != state; ++i) {
      RunFor(absl::Milliseconds(10));
    }
    ASSERT_EQ(StatusOf(id).state(), state) << DescribeJobError(StatusOf(id).error());
  }
  /// Another master, which finds that a path hangs for so long; `meanwhile` runs a minute before it
  /// goes on.
  void RestartToHang(const std::string& path, absl::Duration takes,
                     std::function<void()> meanwhile) {
    const int masters = world_->num_masters();
    world_->RestartMaster(absl::Milliseconds(500));
    while (world_->num_masters() == masters) ASSERT_TRUE(world_->time().RunNext());
    Hang("read", path, takes);
    bool called = false;
    world_->After(takes - absl::Minutes(1), [&] {
      meanwhile();
      called = true;
    });
    RunFor(takes);
    ASSERT_TRUE(called);
    RunFor(absl::Seconds(1));
  }
  int Begun(const std::string& id) {
    const auto& records = world_->journal().records();
    return static_cast<int>(
        std::count_if(records.begin(), records.end(), [&](const v1::JournalRecord& record) {
          return record.job_id() == id && record.has_job_state_changed() &&
                 record.job_state_changed().state() == v1::JOB_STATE_PLANNING;
        }));
  }
  absl::Status Cancel(const std::string& id) {
    v1::CancelRequest request;
    request.set_job_id(id);
    absl::Status answer = absl::UnknownError("no answer");
    master().jobs().Send<rpc::Cancel>(
        request, [&answer](const auto& response) { answer = response.status(); });
    return answer;
  }
  bool Published(const std::string& output) {
    return world_->storage().Stat(output + "/manifest.json").ok();
  }
};

TEST_F(SlowStorageTest, APathThatDoesNotAnswerHoldsUpNoOtherJob) {
  const std::string runs = SubmitTo("/out/runs");
  world_->list_pool().Hold();
  v1::SubmitRequest request;
  *request.mutable_spec() = Spec();
  std::optional<absl::Status> refused;
  master().jobs().Send<rpc::Submit>(
      request, [&refused](const auto& response) { refused = response.status(); });
  RunUntil(runs, v1::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(Published("/out/runs"));
  RunFor(limits::kListingWait);
  ASSERT_TRUE(refused);
  EXPECT_TRUE(absl::IsResourceExhausted(*refused)) << *refused;
}

TEST_F(SlowStorageTest, ASubmissionWhosePathDoesNotAnswerIsRefusedByItsName) {
  ASSERT_TRUE(world_->storage().MakeDirectory("/in/hung").ok());
  Hang("list", "/in/hung", absl::Minutes(11));
  v1::JobSpec spec = Spec();
  spec.set_inputs(0, "/in/hung");
  const auto id = Submit(spec);
  EXPECT_TRUE(absl::IsDeadlineExceeded(id.status())) << id.status();
  EXPECT_EQ(JobErrorFromStatus(id.status()).code(), job_error::kDeadline);
  EXPECT_TRUE(absl::StrContains(id.status().message(), "waits for /in/hung")) << id.status();
  RunFor(absl::Minutes(1));
  for (const v1::JournalRecord& record : world_->journal().records()) {
    EXPECT_FALSE(record.has_job_accepted()) << "no job comes of it later";
  }
}

TEST_F(SlowStorageTest, ACommitThatWaitsForOthersTooLongNeverPublishes) {
  const std::string id = SubmitTo("/out/x");
  RunUntil(id, v1::JOB_STATE_RUNNING);
  world_->disk_pool().Hold();
  RunUntil(id, v1::JOB_STATE_COMMITTING);
  RunFor(absl::Minutes(9));
  EXPECT_EQ(StatusOf(id).state(), v1::JOB_STATE_COMMITTING);
  RunFor(absl::Minutes(2));
  const v1::JobStatus status = StatusOf(id);
  ASSERT_EQ(status.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(status.error().code(), job_error::kDeadline);
  EXPECT_TRUE(absl::StrContains(status.error().message(), "did not begin within 10m"))
      << status.error().message();
  world_->disk_pool().GoOn();
  RunFor(absl::Minutes(1));
  EXPECT_FALSE(Published("/out/x")) << "though the job is told to have failed";
  for (const std::string& path : world_->storage().Paths()) {
    EXPECT_FALSE(absl::StrContains(path, "staging")) << path;
  }
}

TEST_F(SlowStorageTest, TheTimeOfACommitBeginsWithIt) {
  const std::string id = SubmitTo("/out/x");
  RunUntil(id, v1::JOB_STATE_RUNNING);
  world_->disk_pool().Hold();
  RunUntil(id, v1::JOB_STATE_COMMITTING);
  RunFor(absl::Minutes(9));
  Hang("read", "/out/x/manifest.json", absl::Minutes(5));
  world_->disk_pool().GoOn();
  RunUntil(id, v1::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(Published("/out/x"));
}

TEST_F(SlowStorageTest, ACommitThatHangsItselfNamesItsFileSystem) {
  const std::string id = SubmitTo("/out/x");
  RunUntil(id, v1::JOB_STATE_RUNNING);
  Hang("read", "/out/x/manifest.json", absl::Minutes(12));
  RunUntil(id, v1::JOB_STATE_FAILED);
  EXPECT_TRUE(absl::StrContains(StatusOf(id).error().message(),
                                "publishing took longer than 10m on the file system of /out/x"))
      << StatusOf(id).error().message();
}

TEST_F(SlowStorageTest, ACancelledJobDoesNotStageLater) {
  world_->disk_pool().Hold();
  const std::string id = SubmitTo("/out/x");
  RunFor(absl::Minutes(1));
  ASSERT_EQ(StatusOf(id).state(), v1::JOB_STATE_PLANNING);
  v1::CancelRequest request;
  request.set_job_id(id);
  master().jobs().Send<rpc::Cancel>(request,
                                    [](const auto& response) { ASSERT_TRUE(response.ok()); });
  RunUntil(id, v1::JOB_STATE_CANCELLED);
  bool staged = false;
  world_->storage().SetGate([&staged](const char* called, const std::string&) {
    staged = staged || called == std::string("mkdir");
    return absl::OkStatus();
  });
  world_->disk_pool().GoOn();
  RunFor(absl::Minutes(1));
  EXPECT_FALSE(staged);
}

TEST_F(SlowStorageTest, AnOutputThatDoesNotAnswerKeepsNoMasterFromServingOtherJobs) {
  const std::string hung = SubmitTo("/out/hung");
  const std::string other = SubmitTo("/out/other");
  RunUntil(hung, v1::JOB_STATE_RUNNING);
  ASSERT_EQ(StatusOf(other).state(), v1::JOB_STATE_QUEUED) << "a large one beside it";
  RestartToHang("/out/hung/manifest.json", absl::Minutes(9), [&] {
    EXPECT_EQ(StatusOf(other).state(), v1::JOB_STATE_SUCCEEDED);
    EXPECT_EQ(StatusOf(hung).state(), v1::JOB_STATE_RUNNING) << "as the journal has it";
    EXPECT_TRUE(absl::IsFailedPrecondition(Cancel(hung))) << "it may have published";
    v1::JobSpec same = Spec();
    same.set_output("/out/hung/");
    EXPECT_EQ(RefusalCode(same), job_error::kOutputUnusable);
    EXPECT_NE(StatusOf(SubmitTo("/out/third")).state(), v1::JOB_STATE_QUEUED);
  });
  RunUntil(hung, v1::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(Published("/out/hung"));
  EXPECT_EQ(Begun(hung), 2) << "again, once its storage was back";
}

TEST_F(SlowStorageTest, WhatWasPublishedIsKnownBeforeAnotherJobReplacesIt) {
  v1::JobSpec spec = Spec();
  spec.set_overwrite(true);
  const std::string first = *Submit(spec);
  const std::string second = *Submit(spec);
  for (int i = 0; i < 10'000'000 && !Published("/out/x"); ++i) world_->time().RunNext();
  ASSERT_EQ(StatusOf(first).state(), v1::JOB_STATE_COMMITTING) << "nobody has heard of it";
  ASSERT_EQ(StatusOf(second).state(), v1::JOB_STATE_QUEUED);
  RestartToHang("/out/x/manifest.json", absl::Minutes(9), [&] {
    EXPECT_EQ(StatusOf(first).state(), v1::JOB_STATE_COMMITTING);
    EXPECT_EQ(StatusOf(second).state(), v1::JOB_STATE_QUEUED);
  });
  EXPECT_EQ(StatusOf(first).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_GT(StatusOf(first).parts_size(), 0);
  RunUntil(second, v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Begun(first), 1) << "published once";
  world_->RestartMaster(absl::Milliseconds(500));
  RunFor(absl::Seconds(1));
  EXPECT_EQ(StatusOf(first).state(), v1::JOB_STATE_SUCCEEDED) << "by the journal";
}

TEST_F(SlowStorageTest, AJournalThatDoesNotAnswerIsSaidToThoseWhoSubmit) {
  v1::JobSpec spec = Spec();
  spec.set_idempotency_key("once");
  world_->journal_pool().Hold();
  const auto waited = Submit(spec, limits::kJournalPatience + absl::Seconds(1));
  EXPECT_TRUE(rpc::IsNotReady(waited.status())) << waited.status();
  EXPECT_TRUE(absl::StrContains(waited.status().message(), "has not answered for 10s"))
      << waited.status();
  spec.set_idempotency_key("twice");
  EXPECT_TRUE(rpc::IsNotReady(Submit(spec).status())) << "at once, and not accepted later";
  world_->journal_pool().GoOn();
  RunFor(absl::Seconds(1));
  spec.set_idempotency_key("once");
  const auto id = Submit(spec);
  ASSERT_TRUE(id.ok()) << id.status();
  RunUntil(*id, v1::JOB_STATE_SUCCEEDED);
  const auto& records = world_->journal().records();
  EXPECT_EQ(
      std::count_if(records.begin(), records.end(),
                    [](const v1::JournalRecord& record) { return record.has_job_accepted(); }),
      1);
}

// It answers while the master stands still, later than it would be waited for.
TEST_F(SlowStorageTest, WhatAnOutputSaysToAMasterThatStandsStillIsHeardFirst) {
  const std::string id = SubmitTo("/out/x");
  RunUntil(id, v1::JOB_STATE_RUNNING);
  const int masters = world_->num_masters();
  world_->RestartMaster(absl::Milliseconds(500));
  while (world_->num_masters() == masters) ASSERT_TRUE(world_->time().RunNext());
  Hang("read", "/out/x/manifest.json", limits::kSettleMax + absl::Seconds(30));
  bool stopped = false;
  world_->After(absl::Minutes(1), [&] {
    world_->HangMaster(limits::kSettleMax + absl::Minutes(1));
    stopped = true;
  });
  RunFor(limits::kSettleMax + absl::Minutes(2) + absl::Seconds(2));
  ASSERT_TRUE(stopped);
  const v1::JobStatus status = StatusOf(id);
  EXPECT_NE(status.state(), v1::JOB_STATE_FAILED) << DescribeJobError(status.error());
}

TEST_F(SlowStorageTest, AJobWhoseOutputNeverAnswersEndsByItsName) {
  const std::string hung = SubmitTo("/out/hung");
  RunUntil(hung, v1::JOB_STATE_RUNNING);
  RestartToHang("/out/hung/manifest.json", absl::Minutes(12), [&] {
    ASSERT_EQ(StatusOf(hung).state(), v1::JOB_STATE_FAILED);
    EXPECT_EQ(StatusOf(hung).error().code(), job_error::kMasterRestarted);
    EXPECT_TRUE(absl::StrContains(StatusOf(hung).error().message(),
                                  "the file system of /out/hung did not answer within 10m"))
        << StatusOf(hung).error().message();
  });
  EXPECT_EQ(StatusOf(hung).state(), v1::JOB_STATE_FAILED) << "whatever is found later";
  EXPECT_EQ(Begun(hung), 1);
}

}  // namespace
}  // namespace weir::master
