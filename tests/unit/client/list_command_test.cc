// `weir list` and `weir jobs`.

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "tests/unit/client/scripted_master_test_base.h"

namespace weir::client {
namespace {

class ListCommandTest : public ScriptedMasterTest {};

TEST_F(ListCommandTest, ListSaysByItsStatusWhetherAWorkerIsAlive) {
  for (const auto& [name, state] :
       {std::pair{"w1", v1::WORKER_STATE_ALIVE}, std::pair{"w2", v1::WORKER_STATE_LOST},
        std::pair{"w3", v1::WORKER_STATE_LEFT}}) {
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
  options.alive = "w3";
  EXPECT_EQ(List(options, host_), kExitRefused);
  EXPECT_NE(err_.str().find("worker 'w3' is gone: it left, last heard"), std::string::npos)
      << err_.str();
  options.alive = "w";
  EXPECT_EQ(List(options, host_), kExitRefused) << "a part of a name is another worker's";
  EXPECT_NE(err_.str().find("worker 'w' is not registered"), std::string::npos) << err_.str();
  options.what = ListOptions::What::kJobs;
  out_.str("");
  options.json = true;
  EXPECT_EQ(List(options, host_), kExitUsage);
  EXPECT_EQ(Json()["error"]["code"], "INVALID_ARGUMENT");
}

TEST_F(ListCommandTest, ListSaysHowManyJobsDidNotFitTheAnswer) {
  master_.jobs.add_jobs()->set_job_id("j-7");
  ListOptions options;
  EXPECT_EQ(List(options, host_), kExitOk);
  EXPECT_EQ(err_.str(), "");
  master_.jobs.set_left_out(12);
  EXPECT_EQ(List(options, host_), kExitOk);
  EXPECT_NE(err_.str().find("12 more would not fit one answer"), std::string::npos) << err_.str();
  out_.str("");
  options.json = true;
  EXPECT_EQ(List(options, host_), kExitOk);
  EXPECT_NE(out_.str().find("\"left_out\": 12"), std::string::npos) << out_.str();
}

TEST_F(ListCommandTest, ListsJobsOfOneStateAlone) {
  for (const v1::JobState state : {v1::JOB_STATE_QUEUED, v1::JOB_STATE_FAILED, v1::JOB_STATE_ENDING,
                                   v1::JOB_STATE_SUCCEEDED, v1::JOB_STATE_FAILED}) {
    v1::JobStatus& job = *master_.jobs.add_jobs();
    job.set_state(state);
    job.set_job_id(absl::StrCat("j-", master_.jobs.jobs_size()));
  }
  master_.jobs.set_left_out(7);
  ListOptions options;
  options.json = true;
  const auto listed = [&](const std::string& state) {
    options.state = state;
    out_.str("");
    EXPECT_EQ(List(options, host_), kExitOk) << err_.str();
    const auto told = Json();
    EXPECT_EQ(told["left_out"], 7) << "which state these are in nobody knows";
    std::string ids;
    for (const auto& job : told["jobs"]) ids += job["job_id"].get<std::string>() + " ";
    return ids;
  };
  EXPECT_EQ(listed("failed"), "j-2 j-5 ");
  EXPECT_EQ(listed("queued"), "j-1 ");
  EXPECT_EQ(listed("unfinished"), "j-1 j-3 ");
  EXPECT_EQ(listed("cancelled"), "");
  EXPECT_EQ(listed(""), "j-1 j-2 j-3 j-4 j-5 ");
  options.state = "failed";
  for (const auto what : {ListOptions::What::kWorkers, ListOptions::What::kMetrics}) {
    options.what = what;
    options.json = what == ListOptions::What::kWorkers;
    EXPECT_EQ(List(options, host_), kExitUsage) << "which have no such state";
  }
}

TEST_F(ListCommandTest, JobsSuggestsTheNearestName) {
  JobsOptions options;
  options.job = "wordcuont";
  EXPECT_EQ(Jobs(options, host_), kExitUsage);
  EXPECT_NE(err_.str().find("there is no job 'wordcuont'"), std::string::npos);
  EXPECT_EQ(out_.str(), "");
  options.json = true;
  EXPECT_EQ(Jobs(options, host_), kExitUsage);
  EXPECT_EQ(Json()["error"]["code"], "INVALID_ARGUMENT");
}

}  // namespace
}  // namespace weir::client
