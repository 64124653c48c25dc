// What users are told of a job: its plan, its result, its losses, its end.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "jobs/api/job_definition.h"
#include "jobs/api/program.h"
#include "runtime/base/job_errors.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "tests/unit/client/scripted_master_test_base.h"

namespace weir::client {
namespace {

class JobReportTest : public ScriptedMasterTest {};

// A job whose result holds what a terminal obeys.
class ColourfulJob : public JobDefinition {
 public:
  const JobInfo& info() const override { return info_; }
  absl::StatusOr<std::unique_ptr<JobProgram>> MakeProgram(const ParameterValues&) const override {
    return absl::UnimplementedError("it is shown, never run");
  }
  absl::Status Present(absl::Span<const std::string>, const ParameterValues&,
                       std::ostream& out) const override {
    out << "1\t\033[31mred\n2\tblue\n";
    return absl::OkStatus();
  }

 private:
  JobInfo info_;
};

TEST_F(JobReportTest, EndsBecomeExitCodes) {
  SubmitOptions options = SomeJobToWaitFor();
  const std::vector<std::tuple<v1::JobState, std::string, int>> ends = {
      {v1::JOB_STATE_FAILED, "TASK_CRASHED", kExitJobFailed},
      {v1::JOB_STATE_FAILED, "DEADLINE", kExitDeadline},
      {v1::JOB_STATE_FAILED, "INPUT_UNREADABLE", kExitRefused},
      {v1::JOB_STATE_FAILED, "INPUT_NOT_FOUND", kExitRefused},
      {v1::JOB_STATE_FAILED, "OUTPUT_UNUSABLE", kExitRefused},
      {v1::JOB_STATE_FAILED, "OUTPUT_EXISTS", kExitRefused},
      {v1::JOB_STATE_FAILED, "OUTPUT_NOT_SHARED", kExitRefused},
      {v1::JOB_STATE_CANCELLED, "CANCELLED", kExitCancelled},
  };
  for (const auto& [state, code, exit_code] : ends) {
    err_.str("");
    v1::JobStatus status = InState(state);
    *status.mutable_error() = MakeJobError(code, "it ended", "look into it");
    status.mutable_error()->set_stderr_tail("oh\033[2J no\n");
    master_.statuses = {status};
    EXPECT_EQ(Submit(options, host_), exit_code);
    EXPECT_NE(err_.str().find(code + ": it ended; look into it"), std::string::npos) << err_.str();
    // User output must not steer the terminal.
    EXPECT_NE(err_.str().find("  | oh[2J no\n"), std::string::npos) << err_.str();
  }
}

TEST_F(JobReportTest, WhatUsersWroteDoesNotSteerTheTerminal) {
  v1::JobStatus status = InState(v1::JOB_STATE_FAILED);
  status.set_job_id("j-1");
  status.mutable_spec()->set_output("/out\033[2J");
  *status.mutable_error() = MakeJobError("USER_ERROR", "bad\033]0;title\007 row\nand more\r");
  v1::Counter& counter = *status.add_counters();
  counter.set_name("rows\033[31m\n");
  counter.set_value(1);
  status.add_skipped()->set_content("left\033[2J");
  master_.statuses = {status};
  RunOptions run;
  run.job = SomeJob().job;
  EXPECT_EQ(client::Run(run, host_), kExitJobFailed);
  EXPECT_EQ(Status({.master = {}, .job_id = "j-1", .json = false}, host_), kExitOk);
  *master_.jobs.add_jobs() = status;
  EXPECT_EQ(List({}, host_), kExitOk);
  EXPECT_EQ(err_.str().find_first_of("\033\007\r"), std::string::npos) << err_.str();
  EXPECT_EQ(out_.str().find_first_of("\033\007\r"), std::string::npos) << out_.str();
  EXPECT_NE(err_.str().find("bad\\033]0;title\\007 row\nand more\\r"), std::string::npos)
      << err_.str();
  EXPECT_NE(err_.str().find("counter rows\\033[31m\\n = 1\n"), std::string::npos) << err_.str();
  EXPECT_NE(out_.str().find("counter    rows\\033[31m\\n = 1\n"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("output     /out\\033[2J\n"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find(" /out\\033[2J\n"), std::string::npos) << out_.str();
  out_.str("");
  EXPECT_EQ(Status({.master = {}, .job_id = "j-1", .json = true}, host_), kExitOk);
  EXPECT_EQ(Json()["spec"]["output"], "/out\033[2J") << "programs get what was written";
}

TEST_F(JobReportTest, APlanIsOneLineUnlessAllOfItIsAskedFor) {
  v1::JobStatus status = InState(v1::JOB_STATE_SUCCEEDED);
  status.set_plan_text(
      "Plan: wordcount\n  size       2 workers, 5 steps\n  predicted  1.20 s\n"
      "  limit      map, busy 1.00 s\n\n  layer   many\n  predicted  by layer\n");
  status.mutable_progress()->set_input_bytes_total(1'500'000);
  master_.statuses = {status};
  SubmitOptions options = SomeJobToWaitFor();
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

TEST_F(JobReportTest, ATimeByDefaultRatesIsSaidToBeOne) {
  v1::JobStatus status = InState(v1::JOB_STATE_SUCCEEDED);
  status.set_plan_text(
      "Plan: wordcount\n  size       2 workers, 5 steps\n  predicted  1.20 s\n"
      "  limit      map, busy 1.00 s\n\nNotes\n  Guessed, not measured: map rate, network rate.\n");
  master_.statuses = {status};
  EXPECT_EQ(Submit(SomeJobToWaitFor(), host_), kExitOk);
  EXPECT_NE(err_.str().find("predicted 1.20 s by default rates; limited by map"), std::string::npos)
      << err_.str();
}

TEST_F(JobReportTest, TheFirstRowsOfAnyResultAreShownToPeople) {
  Put("part-00000", "a\t1\nb\x1b[2J\n" + std::string(300, 'x') + "\n");
  Put("part-00001", "4\n5\n6\n7\n");
  v1::JobStatus status = InState(v1::JOB_STATE_SUCCEEDED);
  status.mutable_spec()->set_output(dir_);
  for (const char* name : {"part-00000", "part-00001"}) {
    v1::OutputPart& part = *status.add_parts();
    part.set_file(name);
    part.set_records(name[9] == '0' ? 3 : 4);
  }
  master_.statuses = {status};
  SubmitOptions options = SomeJobToWaitFor();
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

TEST_F(JobReportTest, StatusClaimsNoPredictionWhereThereIsNone) {
  v1::JobStatus status = InState(v1::JOB_STATE_FAILED);
  status.set_job_id("j-1");
  status.set_plan_id("00ff");
  master_.statuses = {status};
  EXPECT_EQ(Status({.master = {}, .job_id = "j-1", .json = false}, host_), kExitOk);
  EXPECT_NE(out_.str().find("plan       00ff\n"), std::string::npos) << out_.str();
  out_.str("");
  master_.statuses.back().set_predicted_makespan_s(2);
  EXPECT_EQ(Status({.master = {}, .job_id = "j-1", .json = false}, host_), kExitOk);
  EXPECT_NE(out_.str().find("00ff, predicted 2.0 s\n"), std::string::npos) << out_.str();
}

TEST_F(JobReportTest, StatusCountsPartsInWords) {
  v1::JobStatus status = InState(v1::JOB_STATE_SUCCEEDED);
  status.mutable_spec()->set_output("/out");
  for (const char* said : {"/out (1 part)\n", "/out (2 parts)\n"}) {
    out_.str("");
    status.add_parts();
    master_.statuses = {status};
    EXPECT_EQ(Status({.master = {}, .job_id = "j-1", .json = false}, host_), kExitOk);
    EXPECT_NE(out_.str().find(said), std::string::npos) << out_.str();
  }
}

TEST_F(JobReportTest, ALostWorkerIsToldOnceWhenTheJobIsPlannedAgain) {
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
  SubmitOptions options = SomeJobToWaitFor();
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

TEST_F(JobReportTest, EachLossIsToldOnceThoughTheOldestAreToldNoMore) {
  const auto lose = [](int number, v1::JobStatus& status) {
    v1::WorkerLoss& loss = *status.add_losses();
    loss.set_worker("w" + std::to_string(number));
    loss.set_why("was lost");
    loss.set_plan_epoch(number + 1);
    loss.set_unix_ms(number);
  };
  v1::JobStatus three = InState(v1::JOB_STATE_RUNNING);
  for (int number = 1; number <= 3; ++number) lose(number, three);
  v1::JobStatus later = InState(v1::JOB_STATE_RUNNING);
  later.add_losses()->set_why("others were lost before these");
  later.mutable_losses(0)->set_plan_epoch(3);
  for (int number = 3; number <= 4; ++number) lose(number, later);
  v1::JobStatus done = later;
  done.set_state(v1::JOB_STATE_SUCCEEDED);
  master_.statuses = {three, later, done};
  EXPECT_EQ(Submit(SomeJobToWaitFor(), host_), kExitOk);
  for (int number = 1; number <= 4; ++number) {
    const std::string line = "worker w" + std::to_string(number) + " was lost";
    const std::size_t told = err_.str().find(line);
    ASSERT_NE(told, std::string::npos) << line << " is missing in: " << err_.str();
    EXPECT_EQ(err_.str().find(line, told + 1), std::string::npos) << "once";
  }
  EXPECT_EQ(err_.str().find("others were lost"), std::string::npos) << "each of them was told";
  EXPECT_EQ(Status({.master = {}, .job_id = "j-1", .json = false}, host_), kExitOk);
  EXPECT_NE(out_.str().find("lost       others were lost before these\n"), std::string::npos)
      << out_.str();
}

TEST_F(JobReportTest, JsonHasASchemaAndPlainNumbers) {
  v1::JobStatus status = InState(v1::JOB_STATE_SUCCEEDED);
  status.set_job_id("j-1");
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

TEST_F(JobReportTest, LogsDoNotSteerATerminal) {
  v1::WorkerLog& log = *master_.logs.add_logs();
  log.set_worker("w1");
  log.set_output_tail(
      "a\tb\n\033]0;title\007 \177 \xc2\x9b"
      "2J\rc");
  LogsOptions options;
  options.job_id = "j-1";
  EXPECT_EQ(Logs(options, host_), kExitOk) << err_.str();
  EXPECT_EQ(out_.str(), "== w1\n" + log.output_tail() + "\n") << "a file gets it as it is";
  out_.str("");
  host_.out_is_terminal = true;
  EXPECT_EQ(Logs(options, host_), kExitOk) << err_.str();
  EXPECT_EQ(out_.str(), "== w1\na\tb\n\\033]0;title\\007 \\177 \\302\\2332J\\rc\n");
  out_.str("");
  options.json = true;
  EXPECT_EQ(Logs(options, host_), kExitOk) << err_.str();
  EXPECT_EQ(Json()["logs"][0]["output_tail"], log.output_tail()) << "which escapes by itself";
}

TEST_F(JobReportTest, AResultDoesNotSteerATerminal) {
  catalog_.emplace("wordcount", std::make_unique<ColourfulJob>());
  master_.statuses = {InState(v1::JOB_STATE_SUCCEEDED)};
  EXPECT_EQ(Submit(SomeJobToWaitFor(), host_), kExitOk) << err_.str();
  EXPECT_EQ(out_.str(), "1\t\033[31mred\n2\tblue\n") << "a file gets it as it is";
  out_.str("");
  host_.out_is_terminal = true;
  EXPECT_EQ(Submit(SomeJobToWaitFor(), host_), kExitOk) << err_.str();
  EXPECT_EQ(out_.str(), "1\t\\033[31mred\n2\tblue\n");
}

}  // namespace
}  // namespace weir::client
