// Commands that follow a job over interrupts, and over masters that are away.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "runtime/base/job_errors.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/follow_job.h"
#include "runtime/rpc/broken_off.h"
#include "tests/unit/client/scripted_master_test_base.h"

namespace weir::client {
namespace {

class JobFollowingTest : public ScriptedMasterTest {};

TEST_F(JobFollowingTest, InterruptCancelsAndWaitsForTheEnd) {
  v1::JobStatus cancelled = InState(v1::JOB_STATE_CANCELLED);
  *cancelled.mutable_error() = MakeJobError(job_error::kCancelled, "cancelled by the user");
  master_.statuses = {InState(v1::JOB_STATE_RUNNING)};
  master_.hold_stream = true;
  master_.on_cancel = [&] { master_.End(cancelled); };
  master_.interrupt_after_watch = 1;
  EXPECT_EQ(Submit(SomeJobToWaitFor(), host_), kExitInterrupted);
  EXPECT_EQ(master_.cancels, 1);
  EXPECT_NE(err_.str().find("cancelling j-1"), std::string::npos);
}

TEST_F(JobFollowingTest, AnInterruptThatComesTooLateIsToldSoAndTheEndIsWaitedFor) {
  master_.statuses = {InState(v1::JOB_STATE_COMMITTING)};
  master_.hold_stream = true;
  master_.first_cancel = absl::FailedPreconditionError("job j-1 is committing, too late");
  // In a turn of its own: by then the answer has been heard.
  master_.on_cancel = [&] {
    loop_.Post([&] { loop_.Post([&] { master_.End(InState(v1::JOB_STATE_SUCCEEDED)); }); });
  };
  master_.interrupt_after_watch = 1;
  Submit(SomeJobToWaitFor(), host_);
  EXPECT_EQ(master_.cancels, 1);
  EXPECT_NE(err_.str().find("j-1 writes its result already"), std::string::npos) << err_.str();
}

TEST_F(JobFollowingTest, ACancelThatIsLostIsSentAgainOnceTheMasterIsHeardOf) {
  v1::JobStatus cancelled = InState(v1::JOB_STATE_CANCELLED);
  *cancelled.mutable_error() = MakeJobError(job_error::kCancelled, "cancelled by the user");
  master_.statuses = {InState(v1::JOB_STATE_RUNNING)};
  master_.hold_stream = true;
  master_.first_cancel = absl::UnavailableError("socket closed");
  master_.on_cancel = [&] {
    if (master_.cancels == 2) return master_.End(cancelled);
    loop_.Post([&] { loop_.Post([&] { master_.watch.on_message(master_.statuses[0]); }); });
  };
  master_.interrupt_after_watch = 1;
  EXPECT_EQ(Submit(SomeJobToWaitFor(), host_), kExitInterrupted);
  EXPECT_EQ(master_.cancels, 2);
}

TEST_F(JobFollowingTest, SecondInterruptLeavesAtOnce) {
  master_.statuses = {InState(v1::JOB_STATE_RUNNING)};
  master_.hold_stream = true;
  master_.interrupt_after_watch = 2;
  EXPECT_EQ(Submit(SomeJobToWaitFor(), host_), kExitInterrupted);
  EXPECT_EQ(master_.cancels, 1);
}

TEST_F(JobFollowingTest, WatchLeavesWithoutCancelling) {
  master_.statuses = {InState(v1::JOB_STATE_RUNNING)};
  master_.hold_stream = true;
  master_.interrupt_after_watch = 1;
  WatchOptions options;
  options.job_id = "j-1";
  EXPECT_EQ(Watch(options, host_), kExitInterrupted);
  EXPECT_EQ(master_.cancels, 0);
}

TEST_F(JobFollowingTest, ASubmitIsRepeatedUnderItsKeyUntilTheMasterIsBack) {
  master_.submits_lost = 3;
  EXPECT_EQ(Submit(SomeJob(), host_), kExitOk);
  ASSERT_EQ(master_.submit_keys.size(), 4u);
  EXPECT_NE(master_.submit_keys[0], "");
  for (const std::string& key : master_.submit_keys) EXPECT_EQ(key, master_.submit_keys[0]);
  EXPECT_EQ(out_.str(), "j-1\n");
  const std::string said = err_.str();
  EXPECT_NE(said.find("master scripted:1 is away; trying again until "), std::string::npos) << said;
  EXPECT_EQ(said.find("is away"), said.rfind("is away")) << "said once";
  EXPECT_NE(said.find("is back"), std::string::npos) << said;
}

TEST_F(JobFollowingTest, AMasterThatNeverAnsweredIsNotWaitedForUnlessToldTo) {
  master_.away = absl::UnavailableError("connection refused");
  EXPECT_EQ(Submit(SomeJob(), host_), kExitMasterUnreachable);
  EXPECT_EQ(Status({.master = {}, .job_id = "j-1"}, host_), kExitMasterUnreachable);
  EXPECT_TRUE(master_.submit_keys.empty());
  EXPECT_EQ(err_.str().find("is away"), std::string::npos) << err_.str();
  const MasterGrace grace = {absl::Milliseconds(900), /*given=*/true};
  EXPECT_EQ(Status({.master = {}, .job_id = "j-1", .grace = grace}, host_), kExitMasterUnreachable);
  EXPECT_NE(err_.str().find("is away"), std::string::npos) << err_.str();
}

TEST_F(JobFollowingTest, AMasterThatDiesBeforeItsFirstWordIsWaitedFor) {
  // With the first question in hand, with the submit, and before a watch has told anything.
  master_.away = rpc::BrokenOffError("socket closed");
  master_.away_for = 1;
  master_.submits_lost = 1;
  master_.watches_lost = 2;
  master_.on_watch_lost = [this] {
    if (master_.watches_lost > 0) return;
    master_.statuses.push_back(InState(v1::JOB_STATE_SUCCEEDED));
  };
  EXPECT_EQ(Submit(SomeJobToWaitFor(), host_), kExitOk) << err_.str();
  EXPECT_EQ(master_.submit_keys.size(), 2u);
}

TEST_F(JobFollowingTest, AJobIsFollowedOverRestartsOfItsMaster) {
  for (const bool submits : {true, false}) {
    master_.statuses = {InState(v1::JOB_STATE_RUNNING), InState(v1::JOB_STATE_SUCCEEDED)};
    master_.watches_lost = 2;
    EXPECT_EQ(
        submits ? Submit(SomeJobToWaitFor(), host_) : Watch({.master = {}, .job_id = "j-1"}, host_),
        kExitOk)
        << err_.str();
    EXPECT_EQ(master_.watches_lost, 0);
  }
}

TEST_F(JobFollowingTest, AMasterThatStaysAwayIsGivenUp) {
  master_.watches_lost = 1000;
  WatchOptions options;
  options.job_id = "j-1";
  options.grace = {absl::Milliseconds(1), /*given=*/true};
  EXPECT_EQ(Watch(options, host_), kExitMasterUnreachable);
  EXPECT_GT(master_.watches_lost, 900);
}

TEST_F(JobFollowingTest, AnInterruptWhileTheMasterIsAwayLeavesAtOnceAndSaysHowToComeBack) {
  master_.statuses = {InState(v1::JOB_STATE_RUNNING)};
  master_.watches_lost = 1000;
  master_.interrupt_when_lost = 1;
  EXPECT_EQ(Submit(SomeJobToWaitFor(), host_), kExitInterrupted);
  EXPECT_EQ(master_.cancels, 0) << "nobody is there to be told";
  EXPECT_EQ(master_.watches_lost, 999);
  EXPECT_NE(err_.str().find("weir watch j-1 --master scripted:1"), std::string::npos) << err_.str();
}

TEST_F(JobFollowingTest, InputsThatAreToldFirstAndLastStandInEachLineOfProgress) {
  v1::JobStatus first = InState(v1::JOB_STATE_QUEUED);
  first.mutable_spec()->set_job("wordcount");
  first.mutable_spec()->add_inputs("/data/one");
  first.mutable_spec()->add_inputs("/data/two");
  v1::JobStatus between = first;
  between.set_state(v1::JOB_STATE_RUNNING);
  between.mutable_spec()->clear_inputs();
  v1::JobStatus last = first;
  last.set_state(v1::JOB_STATE_SUCCEEDED);
  master_.statuses = {first, between, last};
  ScriptedSession session(loop_, master_);
  const FollowedJob followed = FollowJob(session, "j-1", {.progress_json = true}, host_);
  ASSERT_TRUE(followed.status.ok()) << followed.status.status();
  EXPECT_EQ(followed.status->spec().inputs_size(), 2);
  std::istringstream lines(err_.str());
  int num_lines = 0;
  for (std::string line; std::getline(lines, line); ++num_lines) {
    EXPECT_EQ(nlohmann::json::parse(line)["spec"]["inputs"].size(), 2u) << line;
  }
  EXPECT_EQ(num_lines, 3);
}

}  // namespace
}  // namespace weir::client
