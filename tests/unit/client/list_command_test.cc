// `weir list` and `weir jobs`.

#include <gtest/gtest.h>

#include <string>
#include <utility>

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
