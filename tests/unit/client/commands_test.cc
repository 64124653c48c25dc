// Commands against a master that answers as told.

#include "runtime/client/commands/commands.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>

#include "runtime/base/job_errors.h"
#include "runtime/client/flags/exit_codes.h"
#include "runtime/client/job_spec.h"
#include "runtime/env/real/asio_event_loop.h"
#include "runtime/env/real/kernel_sources.h"
#include "runtime/env/real/posix_storage.h"
#include "runtime/format/xxh3_stream.h"
#include "runtime/rpc/broken_off.h"
#include "tests/unit/client/command_host_test_base.h"
#include "tests/unit/client/scripted_master.h"

namespace weir::client {
namespace {

class CommandsTest : public CommandHostTest {
 protected:
  CommandsTest() {
    host_.connect = [this](const MasterAddress&) -> absl::StatusOr<std::unique_ptr<Session>> {
      return std::make_unique<ScriptedSession>(loop_, master_);
    };
    host_.start_embedded =
        [this](const EmbeddedOptions&) -> absl::StatusOr<std::unique_ptr<Session>> {
      return std::make_unique<ScriptedSession>(loop_, master_);
    };
  }
  nlohmann::json Json() const { return nlohmann::json::parse(out_.str()); }

  env::AsioEventLoop loop_;
  ScriptedMaster master_;
};

SubmitOptions SomeJob() {
  SubmitOptions options;
  options.job.job = "wordcount";
  options.job.inputs = {"in", "/abs/*"};
  options.job.output = "out/";
  return options;
}

TEST_F(CommandsTest, ListSaysByItsStatusWhetherAWorkerIsAlive) {
  for (const auto& [name, state] :
       {std::pair{"w1", v1::WORKER_STATE_ALIVE}, std::pair{"w2", v1::WORKER_STATE_LOST}}) {
    v1::WorkerStatus& worker = *master_.workers.add_workers();
    worker.mutable_identity()->set_name(name);
    worker.set_state(state);
    worker.set_seconds_since_heartbeat(7);
  }
  ListOptions options;
  options.what = ListOptions::What::kWorkers;
  EXPECT_EQ(List(options, host_), kExitOk);
  options.alive = "w1";
  EXPECT_EQ(List(options, host_), kExitOk) << err_.str();
  options.alive = "w2";
  EXPECT_EQ(List(options, host_), kExitRefused);
  EXPECT_NE(err_.str().find("worker 'w2' is lost"), std::string::npos) << err_.str();
  options.alive = "w";
  EXPECT_EQ(List(options, host_), kExitRefused) << "a part of a name is another worker's";
  EXPECT_NE(err_.str().find("worker 'w' is not registered"), std::string::npos) << err_.str();
  options.what = ListOptions::What::kJobs;
  EXPECT_EQ(List(options, host_), kExitUsage);
}

TEST_F(CommandsTest, SubmitSendsAbsolutePathsAndPrintsTheId) {
  EXPECT_EQ(Submit(SomeJob(), host_), kExitOk);
  EXPECT_EQ(out_.str(), "j-1\n");
  EXPECT_EQ(master_.spec.inputs(0), dir_ + "/in");
  EXPECT_EQ(master_.spec.inputs(1), "/abs/*");
  EXPECT_EQ(master_.spec.output(), dir_ + "/out");
  EXPECT_EQ(master_.spec.idempotency_key().size(), 16u);
}

TEST_F(CommandsTest, AnEmptyInputIsNotTheCurrentDirectory) {
  SubmitOptions options = SomeJob();
  options.job.inputs = {""};
  EXPECT_EQ(Submit(options, host_), kExitUsage);
  EXPECT_NE(err_.str().find("input is ''"), std::string::npos) << err_.str();
}

TEST_F(CommandsTest, WhatIsNoPathIsRefusedBeforeAnythingStarts) {
  host_.connect = [](const MasterAddress&) -> absl::StatusOr<std::unique_ptr<Session>> {
    ADD_FAILURE() << "the master was asked";
    return absl::UnavailableError("not here");
  };
  const std::vector<std::tuple<std::string, std::string, std::string, int>> places = {
      {"s3://bucket/key", "INVALID_JOB", "not with s3:// addresses", kExitUsage},
      {"http://host/x", "INVALID_JOB", "mount the store", kExitUsage},
      {"hdfs://name/x", "INVALID_JOB", "mount the store", kExitUsage},
      {"file:///data/x", "INVALID_JOB", "name the path alone", kExitUsage},
      {"-", "INVALID_JOB", "write standard input to a file first", kExitUsage},
      {"gone\xff", "INPUT_UNREADABLE", "is not UTF-8: gone?", kExitRefused},
  };
  for (const auto& [place, code, says, exit_code] : places) {
    err_.str("");
    SubmitOptions options = SomeJob();
    options.job.inputs = {"in", place};
    EXPECT_EQ(Submit(options, host_), exit_code) << place;
    EXPECT_NE(err_.str().find(code), std::string::npos) << err_.str();
    EXPECT_NE(err_.str().find(says), std::string::npos) << err_.str();
    EXPECT_EQ(err_.str().find(dir_), std::string::npos) << err_.str();
  }
  SubmitOptions options = SomeJob();
  options.job.output = "s3://bucket/out";
  EXPECT_EQ(Submit(options, host_), kExitUsage);
  options.job.output = "o\xff";
  EXPECT_EQ(Submit(options, host_), kExitRefused);
}

TEST_F(CommandsTest, APathMayLookLikeAnAddress) {
  SubmitOptions options = SomeJob();
  options.job.inputs = {"./s3://x", "./-", "a:b"};
  EXPECT_EQ(Submit(options, host_), kExitOk) << err_.str();
}

TEST_F(CommandsTest, APictureThatCannotBeWrittenIsToldBeforeTheJob) {
  Put("file", "x");
  for (const std::string gantt : {"nosuch/g.svg", "file/g.svg", "."}) {
    err_.str("");
    SubmitOptions options = SomeJob();
    options.pictures.gantt = gantt;
    EXPECT_EQ(Submit(options, host_), kExitUsage) << gantt;
    EXPECT_NE(err_.str().find("--gantt"), std::string::npos) << err_.str();
    EXPECT_EQ(master_.spec.job(), "") << "submitted all the same";
  }
}

TEST_F(CommandsTest, APictureThatWasNotWrittenIsNoSuccess) {
  // This master knows no plan.
  v1::JobStatus status;
  status.set_state(v1::JOB_STATE_SUCCEEDED);
  master_.statuses = {status};
  SubmitOptions options = SomeJob();
  options.wait = true;
  EXPECT_EQ(Submit(options, host_), kExitOk) << "none was asked for";
  options.pictures.gantt = "g.svg";
  EXPECT_EQ(Submit(options, host_), kExitJobFailed);
  EXPECT_NE(err_.str().find("the result of the job is kept"), std::string::npos) << err_.str();
}

TEST_F(CommandsTest, NeverReplacesTheCurrentDirectoryOrOneAboveIt) {
  SubmitOptions options = SomeJob();
  options.job.overwrite = true;
  for (const char* output : {".", "./", "..", "x/..", "/"}) {
    err_.str("");
    options.job.output = output;
    EXPECT_EQ(Submit(options, host_), kExitRefused) << output;
    EXPECT_NE(err_.str().find("OUTPUT_EXISTS"), std::string::npos) << err_.str();
    EXPECT_NE(err_.str().find("current directory"), std::string::npos) << err_.str();
    EXPECT_EQ(master_.spec.job(), "") << "submitted all the same";
  }
  options.job.output = dir_ + "x";
  EXPECT_EQ(Submit(options, host_), kExitOk) << "beside it, with a name that begins alike";
}

TEST_F(CommandsTest, RefusalsBecomeExitCodes) {
  const std::vector<std::pair<absl::Status, int>> refusals = {
      {absl::InvalidArgumentError("no job 'wordcuont'"), kExitUsage},
      {absl::UnavailableError("cannot reach 127.0.0.1:1"), kExitMasterUnreachable},
      {absl::DeadlineExceededError("no answer"), kExitMasterUnreachable},
      {StatusFromJobError(absl::StatusCode::kAlreadyExists,
                          MakeJobError(job_error::kOutputExists, "out is there", "--overwrite")),
       kExitRefused},
      {StatusFromJobError(absl::StatusCode::kUnavailable,
                          MakeJobError(job_error::kInputUnreadable, "in: Input/output error")),
       kExitRefused},
      {StatusFromJobError(absl::StatusCode::kInvalidArgument,
                          MakeJobError(job_error::kInputUnreadable, "in is a socket")),
       kExitRefused},
      {absl::ResourceExhaustedError("queue is full"), kExitRefused},
      {absl::InternalError("a bug"), kExitInternal},
  };
  for (const auto& [status, code] : refusals) {
    err_.str("");
    master_.refusal = status;
    SubmitOptions options = SomeJob();
    options.grace = {absl::ZeroDuration(), /*given=*/true};
    EXPECT_EQ(Submit(options, host_), code) << status;
    EXPECT_NE(err_.str().find(std::string(status.message())), std::string::npos);
  }
}

TEST_F(CommandsTest, EndsBecomeExitCodes) {
  auto options = SomeJob();
  options.wait = true;
  const std::vector<std::tuple<v1::JobState, std::string, int>> ends = {
      {v1::JOB_STATE_FAILED, "TASK_CRASHED", kExitJobFailed},
      {v1::JOB_STATE_FAILED, "DEADLINE", kExitDeadline},
      {v1::JOB_STATE_FAILED, "INPUT_UNREADABLE", kExitRefused},
      {v1::JOB_STATE_FAILED, "INPUT_NOT_FOUND", kExitRefused},
      {v1::JOB_STATE_FAILED, "OUTPUT_UNUSABLE", kExitRefused},
      {v1::JOB_STATE_CANCELLED, "CANCELLED", kExitCancelled},
  };
  for (const auto& [state, code, exit_code] : ends) {
    err_.str("");
    v1::JobStatus status;
    status.set_state(state);
    *status.mutable_error() = MakeJobError(code, "it ended", "look into it");
    status.mutable_error()->set_stderr_tail("oh\033[2J no\n");
    master_.statuses = {status};
    EXPECT_EQ(Submit(options, host_), exit_code);
    EXPECT_NE(err_.str().find(code + ": it ended; look into it"), std::string::npos) << err_.str();
    // User output must not steer the terminal.
    EXPECT_NE(err_.str().find("  | oh[2J no\n"), std::string::npos) << err_.str();
  }
}

TEST_F(CommandsTest, APlanIsOneLineUnlessAllOfItIsAskedFor) {
  v1::JobStatus status;
  status.set_state(v1::JOB_STATE_SUCCEEDED);
  status.set_plan_text(
      "Plan: wordcount\n  size       2 workers, 5 steps\n  predicted  1.20 s\n"
      "  limit      map, busy 1.00 s\n\n  layer   many\n  predicted  by layer\n");
  status.mutable_progress()->set_input_bytes_total(1'500'000);
  master_.statuses = {status};
  SubmitOptions options = SomeJob();
  options.wait = true;
  EXPECT_EQ(Submit(options, host_), kExitOk);
  EXPECT_NE(
      err_.str().find(
          "plan: 1.5 MB on 2 workers, 5 steps; predicted 1.20 s; limited by map, busy 1.00 s\n"),
      std::string::npos)
      << err_.str();
  EXPECT_EQ(err_.str().find("many"), std::string::npos) << err_.str();
  err_.str("");
  options.verbose = true;
  EXPECT_EQ(Submit(options, host_), kExitOk);
  EXPECT_NE(err_.str().find(status.plan_text()), std::string::npos) << err_.str();
  EXPECT_EQ(err_.str().find("plan: "), std::string::npos) << err_.str();
}

TEST_F(CommandsTest, TheFirstRowsOfAnyResultAreShownToPeople) {
  Put("part-00000", "a\t1\nb\x1b[2J\n" + std::string(300, 'x') + "\n");
  Put("part-00001", "4\n5\n6\n7\n");
  v1::JobStatus status;
  status.set_state(v1::JOB_STATE_SUCCEEDED);
  status.mutable_spec()->set_output(dir_);
  for (const char* name : {"part-00000", "part-00001"}) {
    v1::OutputPart& part = *status.add_parts();
    part.set_file(name);
    part.set_records(name[9] == '0' ? 3 : 4);
  }
  master_.statuses = {status};
  SubmitOptions options = SomeJob();
  options.wait = true;
  EXPECT_EQ(Submit(options, host_), kExitOk);
  EXPECT_NE(err_.str().find("first rows of the result:\n  a\t1\n  b\\033[2J\n  " +
                            std::string(80, 'x') + "...\n  4\n  5\n"),
            std::string::npos)
      << err_.str();
  EXPECT_EQ(err_.str().find("  6\n"), std::string::npos);
  EXPECT_EQ(out_.str(), "") << "a preview is no data";
  err_.str("");
  options.quiet = true;
  EXPECT_EQ(Submit(options, host_), kExitOk);
  EXPECT_EQ(err_.str().find("first rows"), std::string::npos) << err_.str();
}

TEST_F(CommandsTest, StatusClaimsNoPredictionWhereThereIsNone) {
  v1::JobStatus status;
  status.set_job_id("j-1");
  status.set_state(v1::JOB_STATE_FAILED);
  status.set_plan_id("00ff");
  master_.statuses = {status};
  EXPECT_EQ(Status({.master = {}, .job_id = "j-1", .json = false}, host_), kExitOk);
  EXPECT_NE(out_.str().find("plan       00ff\n"), std::string::npos) << out_.str();
  out_.str("");
  master_.statuses.back().set_predicted_makespan_s(2);
  EXPECT_EQ(Status({.master = {}, .job_id = "j-1", .json = false}, host_), kExitOk);
  EXPECT_NE(out_.str().find("00ff, predicted 2.0 s\n"), std::string::npos) << out_.str();
}

TEST_F(CommandsTest, ALostWorkerIsToldOnceWhenTheJobIsPlannedAgain) {
  v1::JobStatus waiting, again, done;
  waiting.set_state(v1::JOB_STATE_PLANNING);
  v1::WorkerLoss& loss = *waiting.add_losses();
  loss.set_worker("w1");
  loss.set_why("was lost: no heartbeat for 6s");
  loss.set_step("map 3");
  again = waiting;
  again.mutable_losses(0)->set_plan_epoch(2);
  done = again;
  done.set_state(v1::JOB_STATE_SUCCEEDED);
  master_.statuses = {waiting, again, again, done};
  SubmitOptions options = SomeJob();
  options.wait = true;
  EXPECT_EQ(Submit(options, host_), kExitOk);
  const std::string line =
      "worker w1 was lost: no heartbeat for 6s (in map 3); planned again (epoch 2)\n";
  const std::size_t told = err_.str().find(line);
  ASSERT_NE(told, std::string::npos) << err_.str();
  EXPECT_EQ(err_.str().find("worker w1", told + 1), std::string::npos) << "once";
  EXPECT_EQ(Status({.master = {}, .job_id = "j-1", .json = false}, host_), kExitOk);
  EXPECT_NE(out_.str().find("lost       " + line), std::string::npos) << out_.str();
  out_.str("");
  EXPECT_EQ(Status({.master = {}, .job_id = "j-1", .json = true}, host_), kExitOk);
  EXPECT_NE(out_.str().find("\"plan_epoch\": 2"), std::string::npos) << out_.str();
}

TEST_F(CommandsTest, InterruptCancelsAndWaitsForTheEnd) {
  auto options = SomeJob();
  options.wait = true;
  v1::JobStatus running, cancelled;
  running.set_state(v1::JOB_STATE_RUNNING);
  cancelled.set_state(v1::JOB_STATE_CANCELLED);
  *cancelled.mutable_error() = MakeJobError(job_error::kCancelled, "cancelled by the user");
  master_.statuses = {running};
  master_.hold_stream = true;
  master_.on_cancel = [&] { master_.End(cancelled); };
  master_.interrupt_after_watch = 1;
  EXPECT_EQ(Submit(options, host_), kExitInterrupted);
  EXPECT_EQ(master_.cancels, 1);
  EXPECT_NE(err_.str().find("cancelling j-1"), std::string::npos);
}

TEST_F(CommandsTest, SecondInterruptLeavesAtOnce) {
  auto options = SomeJob();
  options.wait = true;
  v1::JobStatus running;
  running.set_state(v1::JOB_STATE_RUNNING);
  master_.statuses = {running};
  master_.hold_stream = true;
  master_.interrupt_after_watch = 2;
  EXPECT_EQ(Submit(options, host_), kExitInterrupted);
  EXPECT_EQ(master_.cancels, 1);
}

TEST_F(CommandsTest, WatchLeavesWithoutCancelling) {
  v1::JobStatus running;
  running.set_state(v1::JOB_STATE_RUNNING);
  master_.statuses = {running};
  master_.hold_stream = true;
  master_.interrupt_after_watch = 1;
  WatchOptions options;
  options.job_id = "j-1";
  EXPECT_EQ(Watch(options, host_), kExitInterrupted);
  EXPECT_EQ(master_.cancels, 0);
}

TEST_F(CommandsTest, ASubmitIsRepeatedUnderItsKeyUntilTheMasterIsBack) {
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

TEST_F(CommandsTest, AMasterThatNeverAnsweredIsNotWaitedForUnlessToldTo) {
  master_.away = absl::UnavailableError("connection refused");
  EXPECT_EQ(Submit(SomeJob(), host_), kExitMasterUnreachable);
  EXPECT_EQ(Status({.master = {}, .job_id = "j-1"}, host_), kExitMasterUnreachable);
  EXPECT_TRUE(master_.submit_keys.empty());
  EXPECT_EQ(err_.str().find("is away"), std::string::npos) << err_.str();
  const MasterGrace grace = {absl::Milliseconds(900), /*given=*/true};
  EXPECT_EQ(Status({.master = {}, .job_id = "j-1", .grace = grace}, host_), kExitMasterUnreachable);
  EXPECT_NE(err_.str().find("is away"), std::string::npos) << err_.str();
}

TEST_F(CommandsTest, AMasterThatDiesBeforeItsFirstWordIsWaitedFor) {
  // With the first question in hand, with the submit, and before a watch has told anything.
  master_.away = rpc::BrokenOffError("socket closed");
  master_.away_for = 1;
  master_.submits_lost = 1;
  master_.watches_lost = 2;
  master_.on_watch_lost = [this] {
    if (master_.watches_lost > 0) return;
    master_.statuses.emplace_back().set_state(v1::JOB_STATE_SUCCEEDED);
  };
  auto options = SomeJob();
  options.wait = true;
  EXPECT_EQ(Submit(options, host_), kExitOk) << err_.str();
  EXPECT_EQ(master_.submit_keys.size(), 2u);
}

TEST_F(CommandsTest, AJobIsFollowedOverRestartsOfItsMaster) {
  v1::JobStatus running, done;
  running.set_state(v1::JOB_STATE_RUNNING);
  done.set_state(v1::JOB_STATE_SUCCEEDED);
  for (const bool submits : {true, false}) {
    master_.statuses = {running, done};
    master_.watches_lost = 2;
    auto options = SomeJob();
    options.wait = true;
    EXPECT_EQ(submits ? Submit(options, host_) : Watch({.master = {}, .job_id = "j-1"}, host_),
              kExitOk)
        << err_.str();
    EXPECT_EQ(master_.watches_lost, 0);
  }
}

TEST_F(CommandsTest, AMasterThatStaysAwayIsGivenUp) {
  master_.watches_lost = 1000;
  WatchOptions options;
  options.job_id = "j-1";
  options.grace = {absl::Milliseconds(1), /*given=*/true};
  EXPECT_EQ(Watch(options, host_), kExitMasterUnreachable);
  EXPECT_GT(master_.watches_lost, 900);
}

TEST_F(CommandsTest, AnInterruptWhileTheMasterIsAwayLeavesAtOnceAndSaysHowToComeBack) {
  v1::JobStatus running;
  running.set_state(v1::JOB_STATE_RUNNING);
  master_.statuses = {running};
  master_.watches_lost = 1000;
  master_.interrupt_when_lost = 1;
  auto options = SomeJob();
  options.wait = true;
  EXPECT_EQ(Submit(options, host_), kExitInterrupted);
  EXPECT_EQ(master_.cancels, 0) << "nobody is there to be told";
  EXPECT_EQ(master_.watches_lost, 999);
  EXPECT_NE(err_.str().find("weir watch j-1 --master scripted:1"), std::string::npos) << err_.str();
}

TEST_F(CommandsTest, JsonHasASchemaAndPlainNumbers) {
  v1::JobStatus status;
  status.set_job_id("j-1");
  status.set_state(v1::JOB_STATE_SUCCEEDED);
  status.mutable_progress()->set_input_bytes_total(std::int64_t{1} << 40);
  auto* part = status.add_parts();
  part->set_file("part-00000");
  part->set_bytes(5);
  master_.statuses = {status};
  StatusOptions options;
  options.json = true;
  EXPECT_EQ(Status(options, host_), kExitOk);
  EXPECT_EQ(Json()["schema"], 1);
  EXPECT_EQ(Json()["state"], "succeeded");
  EXPECT_EQ(Json()["progress"]["input_bytes_total"], std::int64_t{1} << 40);
  EXPECT_EQ(Json()["parts"][0]["bytes"], 5);
}

TEST_F(CommandsTest, CalibrateAsksUntilDoneShowsAndWritesTheNetworkFile) {
  v1::MeasuredNetwork& measured = master_.measured;
  measured.set_spec_json("{\"schema\": 1}");
  measured.set_channel_bytes_per_s(1.25e7);
  auto& port = *measured.add_ports();
  port.set_worker("old-box");
  port.set_up_bytes_per_s(1.25e6);
  port.set_slow(true);
  auto& cut = *measured.add_cuts();
  cut.set_name("rack a up");
  cut.set_channels(2);
  cut.set_measured_channels(1.94);
  measured.add_notes("a last pattern ran at 99 %");
  CalibrateOptions options;
  options.seconds_max = 30;
  options.output_file = "network.json";
  EXPECT_EQ(Calibrate(options, host_), kExitOk);
  ASSERT_EQ(master_.calibrate_requests.size(), 3u);
  EXPECT_TRUE(master_.calibrate_requests[0].start());
  EXPECT_EQ(master_.calibrate_requests[0].seconds_max(), 30);
  EXPECT_FALSE(master_.calibrate_requests[1].start());
  EXPECT_EQ(master_.calibrate_requests[0].calibration_id(),
            master_.calibrate_requests[2].calibration_id());
  for (const char* text : {"100.0Mbit/s", "old-box (up 10.0Mbit/s", "rack a up", "1.94", "99 %"}) {
    EXPECT_NE(out_.str().find(text), std::string::npos) << text << " in\n" << out_.str();
  }
  EXPECT_EQ(*storage_.ReadFile(dir_ + "/network.json", 1000), "{\"schema\": 1}\n");
}

TEST_F(CommandsTest, CalibrateIsEndedByAnInterrupt) {
  master_.interrupt_calibration = 1;
  EXPECT_EQ(Calibrate({}, host_), kExitCancelled);
  EXPECT_TRUE(master_.calibrate_requests.back().cancel());
}

TEST_F(CommandsTest, CalibrateReportsARefusal) {
  master_.refusal = absl::FailedPreconditionError("job j-1 uses the network");
  EXPECT_EQ(Calibrate({}, host_), kExitRefused);
  EXPECT_EQ(master_.calibrate_requests.size(), 1u);
}

TEST_F(CommandsTest, VerifyAcceptsWholeOutputsOnly) {
  const std::string content = "a\t1\n";
  const std::string sum = format::Xxh3Hex(format::Xxh3(content));
  ASSERT_TRUE(storage_.MakeDirectory(dir_ + "/_weir").ok());
  Put("part-00000", content);
  Put("manifest.json", R"({"schema":1,"parts":[{"file":"part-00000","bytes":4,"records":1,)"
                       R"("xxh3_64":")" +
                           sum + R"("}]})");
  VerifyOptions options;
  options.output = dir_;
  EXPECT_EQ(Verify(options, host_), kExitOk) << err_.str();
  Put("part-00001", "stray");
  EXPECT_EQ(Verify(options, host_), kExitJobFailed);
  EXPECT_NE(err_.str().find("part-00001: not in the manifest"), std::string::npos);
  ASSERT_TRUE(storage_.RemoveAll(dir_ + "/part-00001").ok());
  Put("part-00000", "b\t1\n");
  EXPECT_EQ(Verify(options, host_), kExitJobFailed);
  EXPECT_NE(err_.str().find("checksum"), std::string::npos);
  Put("part-00000", "b");
  EXPECT_EQ(Verify(options, host_), kExitJobFailed);
  EXPECT_NE(err_.str().find("has 1 bytes, the manifest says 4"), std::string::npos);
  ASSERT_TRUE(storage_.RemoveAll(dir_ + "/part-00000").ok());
  EXPECT_EQ(Verify(options, host_), kExitJobFailed);
  EXPECT_NE(err_.str().find("part-00000: missing"), std::string::npos);
}

TEST_F(CommandsTest, VerifyTrustsNoManifest) {
  VerifyOptions options;
  options.output = dir_;
  for (const char* manifest : {"", "[]", "{", R"({"parts":{}})", R"({"parts":[1]})",
                               R"({"parts":[{"file":"../x","bytes":1,"xxh3_64":"0"}]})",
                               R"({"parts":[{"file":7,"bytes":"1","xxh3_64":0}]})"}) {
    Put("manifest.json", manifest);
    EXPECT_EQ(Verify(options, host_), kExitJobFailed) << manifest;
  }
  options.output = "nowhere";
  EXPECT_EQ(Verify(options, host_), kExitUsage);
}

TEST_F(CommandsTest, JobsSuggestsTheNearestName) {
  JobsOptions options;
  options.job = "wordcuont";
  EXPECT_EQ(Jobs(options, host_), kExitUsage);
  EXPECT_NE(err_.str().find("there is no job 'wordcuont'"), std::string::npos);
}

TEST(AbsolutePath, StartsWhereTheUserIs) {
  EXPECT_EQ(AbsolutePath("a/b", "/home/u"), "/home/u/a/b");
  EXPECT_EQ(AbsolutePath("a", "/"), "/a");
  EXPECT_EQ(AbsolutePath("/x", "/home/u"), "/x");
  EXPECT_EQ(AbsolutePath(".", "/home/u"), "/home/u");
}

}  // namespace
}  // namespace weir::client
