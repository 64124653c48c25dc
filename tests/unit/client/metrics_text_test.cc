#include "runtime/client/commands/metrics_text.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/client/commands/commands.h"
#include "runtime/client/flags/exit_codes.h"
#include "tests/unit/client/scripted_master_test_base.h"

namespace weir::client {
namespace {

bool HasLine(const std::string& text, const std::string& line) {
  return absl::StrCat("\n", text).find(absl::StrCat("\n", line, "\n")) != std::string::npos;
}

class MetricsTextTest : public ScriptedMasterTest {
 protected:
  v1::JobStatus& Job(v1::JobState state, std::int64_t submitted_ms) {
    v1::JobStatus& job = *master_.jobs.add_jobs();
    job.set_job_id(absl::StrCat("j-", master_.jobs.jobs_size()));
    job.set_state(state);
    job.set_submitted_unix_ms(submitted_ms);
    return job;
  }

  v1::WorkerStatus& Worker(const std::string& name, v1::WorkerState state) {
    v1::WorkerStatus& worker = *master_.workers.add_workers();
    worker.mutable_identity()->set_name(name);
    worker.set_state(state);
    return worker;
  }

  std::string Text() const { return MetricsText(master_.jobs, master_.workers, "0.1.0"); }
};

TEST_F(MetricsTextTest, CountsJobsAndWorkersByState) {
  Job(v1::JOB_STATE_QUEUED, 9000);
  Job(v1::JOB_STATE_QUEUED, 5250);
  Job(v1::JOB_STATE_RUNNING, 4000);
  Worker("a", v1::WORKER_STATE_ALIVE);
  Worker("b", v1::WORKER_STATE_LOST);
  const std::string text = Text();
  EXPECT_TRUE(HasLine(text, "weir_build_info{version=\"0.1.0\"} 1")) << text;
  EXPECT_TRUE(HasLine(text, "weir_jobs{state=\"queued\"} 2")) << text;
  EXPECT_TRUE(HasLine(text, "weir_jobs{state=\"running\"} 1")) << text;
  EXPECT_TRUE(HasLine(text, "weir_jobs{state=\"failed\"} 0")) << text;
  EXPECT_TRUE(HasLine(text, "weir_oldest_queued_job_timestamp_seconds 5.250")) << text;
  EXPECT_TRUE(HasLine(text, "weir_workers{state=\"alive\"} 1")) << text;
  EXPECT_TRUE(HasLine(text, "weir_workers{state=\"lost\"} 1")) << text;
  EXPECT_TRUE(HasLine(text, "weir_workers{state=\"draining\"} 0")) << text;
}

TEST_F(MetricsTextTest, SaysOfWorkersThatAreUpWhatTheyHave) {
  v1::WorkerStatus& up = Worker("a", v1::WORKER_STATE_DRAINING);
  up.mutable_profile()->set_slots(4);
  up.mutable_profile()->set_free_disk_bytes(123'456'789'012);
  up.set_seconds_since_heartbeat(0.25);
  Worker("b", v1::WORKER_STATE_LEFT).mutable_profile()->set_slots(8);
  const std::string text = Text();
  EXPECT_TRUE(HasLine(text, "weir_worker_up{worker=\"a\"} 1")) << text;
  EXPECT_TRUE(HasLine(text, "weir_worker_up{worker=\"b\"} 0")) << text;
  EXPECT_TRUE(HasLine(text, "weir_worker_slots{worker=\"a\"} 4")) << text;
  EXPECT_TRUE(HasLine(text, "weir_worker_free_disk_bytes{worker=\"a\"} 123456789012")) << text;
  EXPECT_TRUE(HasLine(text, "weir_worker_heartbeat_age_seconds{worker=\"a\"} 0.250")) << text;
  EXPECT_EQ(text.find("weir_worker_slots{worker=\"b\""), std::string::npos) << text;
}

TEST_F(MetricsTextTest, SetsTheLastPredictionBesideWhatItTook) {
  EXPECT_EQ(Text().find("makespan"), std::string::npos) << "of no job there is none";
  v1::JobStatus& first = Job(v1::JOB_STATE_SUCCEEDED, 9000);
  first.set_ended_unix_ms(20'000);
  first.set_actual_makespan_s(1);
  v1::JobStatus& last = Job(v1::JOB_STATE_SUCCEEDED, 8000);  // a longer one
  last.set_ended_unix_ms(30'500);
  last.set_actual_makespan_s(12.5);
  Job(v1::JOB_STATE_FAILED, 7000).set_ended_unix_ms(40'000);
  EXPECT_TRUE(HasLine(Text(), "weir_job_end_timestamp_seconds 30.500")) << Text();
  EXPECT_TRUE(HasLine(Text(), "weir_job_makespan_seconds 12.500000")) << Text();
  EXPECT_EQ(Text().find("predicted"), std::string::npos) << "what is not known is no 0";
  last.set_predicted_makespan_s(12);
  EXPECT_TRUE(HasLine(Text(), "weir_plan_predicted_makespan_seconds 12.000000")) << Text();
}

// What Prometheus refuses as a whole: a series twice, one without its head, or text in a label as
// it is.
TEST_F(MetricsTextTest, IsWellFormedWhateverWorkersAreCalled) {
  Job(v1::JOB_STATE_QUEUED, 1);
  Job(v1::JOB_STATE_SUCCEEDED, 1).set_predicted_makespan_s(1);
  Worker("a\\\"b\nc", v1::WORKER_STATE_ALIVE);
  Worker("b", v1::WORKER_STATE_ALIVE);
  const std::string text = Text();
  EXPECT_TRUE(HasLine(text, "weir_worker_up{worker=\"a\\\\\\\"b\\nc\"} 1")) << text;
  ASSERT_TRUE(text.ends_with('\n'));
  std::set<std::string> series;
  std::string head;
  const std::vector<std::string> lines = absl::StrSplit(text.substr(0, text.size() - 1), '\n');
  for (const std::string& line : lines) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words[0] == "#") {
      ASSERT_GE(words.size(), 4U) << line;
      head = words[2];
      continue;
    }
    EXPECT_TRUE(line.starts_with(absl::StrCat(head, "{")) || line.starts_with(head + " ")) << line;
    ASSERT_EQ(words.size(), 2U) << line;
    EXPECT_TRUE(series.insert(words[0]).second) << line << " twice";
    EXPECT_EQ(line.find("j-"), std::string::npos) << "ids of jobs would be series without end";
  }
}

TEST_F(MetricsTextTest, AreListedAsTextAlone) {
  Worker("a", v1::WORKER_STATE_ALIVE);
  ListOptions options;
  options.what = ListOptions::What::kMetrics;
  EXPECT_EQ(List(options, host_), kExitOk) << err_.str();
  EXPECT_EQ(out_.str(), MetricsText(master_.jobs, master_.workers, kVersion));
  options.alive = "a";
  EXPECT_EQ(List(options, host_), kExitUsage) << "a question about one worker";
  options.alive.clear();
  options.json = true;
  out_.str("");
  EXPECT_EQ(List(options, host_), kExitUsage);
  EXPECT_EQ(Json()["error"]["code"], "INVALID_ARGUMENT");
}

}  // namespace
}  // namespace weir::client
