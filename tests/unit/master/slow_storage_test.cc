// A master whose files lie on disks that answer late or never, on virtual time.

#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
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

TEST_F(SlowStorageTest, AMasterThatWaitsForAnOutputBeforeItServesSaysForWhich) {
  const std::string id = SubmitTo("/out/x");
  RunUntil(id, v1::JOB_STATE_RUNNING);
  world_->RestartMaster(absl::Milliseconds(100));
  RunFor(absl::Milliseconds(100));  // the new one has started, and its pool has not
  std::string answer;
  world_->storage().SetGate([&](const char*, const std::string& path) {
    if (!answer.empty() || !absl::StrContains(path, "/out/x")) return absl::OkStatus();
    answer = "asked";
    RunFor(absl::Minutes(1));
    master().jobs().Send<rpc::ListJobs>(
        {}, [&](const auto& response) { answer = response.status().ToString(); });
    return absl::OkStatus();
  });
  RunFor(absl::Minutes(2));
  EXPECT_TRUE(absl::StrContains(answer, "/out/x, the output of job " + id)) << answer;
  RunUntil(id, v1::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(Published("/out/x"));
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

}  // namespace
}  // namespace weir::master
