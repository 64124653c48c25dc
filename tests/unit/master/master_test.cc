// The whole master on virtual time, through its two interfaces.

#include "runtime/master/master.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/master/groups/groups.h"
#include "runtime/master/job/job_machine.h"
#include "runtime/master/output/manifest.h"
#include "tests/sim/sim_loop.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

TEST_F(MasterTest, AnswersUnavailableUntilItHasReadItsJournal) {
  sim::World other(1, MasterOptions(), JobRates(), false);
  other.StartMaster();
  bool refused = false;
  other.master().jobs().Send<rpc::ListWorkers>(
      {}, [&refused](const auto& response) { refused = absl::IsUnavailable(response.status()); });
  EXPECT_TRUE(refused);
}

TEST_F(MasterTest, RefusesWhatCannotRunAndSaysWhy) {
  AddWorkers(0);
  EXPECT_EQ(RefusalCode(Spec()), job_error::kNoWorkers);
  AddWorkers(1);
  v1::JobSpec spec = Spec();
  spec.set_job("simjb");
  EXPECT_EQ(RefusalCode(spec), job_error::kInvalidJob);
  EXPECT_TRUE(absl::StrContains(Submit(spec).status().message(), "'simjob'"));
  spec = Spec();
  spec.add_parameters()->set_name("nonsense");
  EXPECT_EQ(RefusalCode(spec), job_error::kInvalidJob);
  spec = Spec();
  spec.set_plan_method("magic");
  EXPECT_EQ(RefusalCode(spec), job_error::kInvalidJob);
  spec = Spec();
  spec.add_layer_reducers(2);
  spec.add_layer_reducers(3);
  EXPECT_EQ(RefusalCode(spec), job_error::kInvalidJob) << "the job has one layer";
  spec = Spec();
  spec.set_num_reducers(2);
  spec.add_layer_reducers(2);
  EXPECT_EQ(RefusalCode(spec), job_error::kInvalidJob) << "both";
  for (const char* field : {"lanes", "fetch-2", "rates", "one", "2"}) {
    const std::string value = field;
    spec = Spec();
    spec.set_job(sim::kLoopJob);
    if (value == "one") {
      spec.set_write_mode(value);
    } else if (value == "2") {
      spec.set_num_reducers(2);
    } else {
      spec.set_plan_method(value);
    }
    EXPECT_EQ(RefusalCode(spec), job_error::kInvalidJob) << "a loop has its own ways: " << value;
  }
  spec = Spec();
  spec.add_inputs("/in/missing");
  EXPECT_EQ(RefusalCode(spec), job_error::kInputNotFound);
  spec = Spec();
  spec.set_output("/in");
  EXPECT_EQ(RefusalCode(spec), job_error::kOutputExists);
  spec.set_overwrite(true);
  EXPECT_EQ(RefusalCode(spec), job_error::kOutputExists) << "what lies there Weir did not write";
  spec.set_output("/out/old");
  spec.add_inputs("/out/old/part-00000");
  sim::MemoryStorage& storage = world_->storage();
  ASSERT_TRUE(storage.MakeDirectory("/out/old").ok());
  ASSERT_TRUE(storage.WriteSized("/out/old/part-00000", 100).ok());
  v1::OutputPart part;
  part.set_file("part-00000");
  ASSERT_TRUE(storage.WriteFileAtomically("/out/old/manifest.json", ManifestText({}, {part})).ok());
  EXPECT_EQ(RefusalCode(spec), job_error::kInvalidJob) << "inputs inside the output";
  spec = Spec();
  spec.set_inputs(0, "/in");
  spec.set_output("/in/new");
  EXPECT_EQ(RefusalCode(spec), job_error::kInvalidJob) << "an output inside the input";
}

TEST_F(MasterTest, RunsAJobAndRemembersPlanActualAndLogs) {
  AddWorkers(3);
  const auto id = Submit(Spec());
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Minutes(1));
  const v1::JobStatus status = StatusOf(*id);
  ASSERT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  EXPECT_GT(status.parts_size(), 0);
  EXPECT_EQ(status.progress().steps_done(), status.progress().steps_total());
  EXPECT_EQ(status.progress().input_bytes_done(), 1'000'000'000);
  EXPECT_GT(status.predicted_makespan_s(), 0);
  EXPECT_FALSE(status.plan_text().empty());
  bool answered = false;
  v1::GetPlanRequest plan;
  plan.set_job_id(*id);
  master().jobs().Send<rpc::GetPlan>(plan, [&](const auto& response) {
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->plan().plan_id(), status.plan_id());
    EXPECT_EQ(response->actual().steps_size(), response->plan().steps_size());
    answered = true;
  });
  v1::GetLogsRequest logs;
  logs.set_job_id(*id);
  master().jobs().Send<rpc::GetLogs>(logs, [&](const auto& response) {
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->logs_size(), 3);
  });
  RunFor(absl::Seconds(1));
  EXPECT_TRUE(answered);
}

TEST_F(MasterTest, JobsThatHaveEndedLeaveNoTimer) {
  AddWorkers(2);
  ASSERT_TRUE(world_->storage().WriteSized("/in/data", 1000).ok());
  std::vector<std::size_t> waiting;
  for (int job = 0; job < 6; ++job) {
    v1::JobSpec spec = Spec();
    spec.set_output(absl::StrCat("/out/", job));
    spec.set_deadline_ms(absl::ToInt64Milliseconds(absl::Hours(1)));
    const auto id = Submit(spec);
    ASSERT_TRUE(id.ok()) << id.status();
    RunFor(absl::Minutes(1));
    ASSERT_EQ(StatusOf(*id).state(), v1::JOB_STATE_SUCCEEDED);
    waiting.push_back(world_->time().events_waiting());
  }
  EXPECT_LE(waiting.back(), waiting.front() + 2) << "more than heartbeats of this moment";
}

TEST_F(MasterTest, EmptyInputGivesEmptyOutput) {
  AddWorkers(2);
  ASSERT_TRUE(world_->storage().WriteSized("/in/data", 0).ok());
  const auto id = Submit(Spec());
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Seconds(10));
  EXPECT_EQ(StatusOf(*id).state(), v1::JOB_STATE_SUCCEEDED)
      << DescribeJobError(StatusOf(*id).error());
}

// Of 450 draws of 16 bits some are the same: those whose jobs are not in the journal yet count,
// too.
TEST_F(MasterTest, JobsOfOneMomentHaveIdsOfTheirOwn) {
  AddWorkers(1);
  constexpr int kJobs = 450;
  std::set<std::string> ids;
  int refused = 0;
  for (int i = 0; i < kJobs; ++i) {
    v1::SubmitRequest request;
    *request.mutable_spec() = Spec();
    request.mutable_spec()->set_output(absl::StrCat("/out/x", i));
    master().jobs().Send<rpc::Submit>(request, [&](const auto& response) {
      if (response.ok()) ids.insert(response->job_id());
      refused += response.ok() ? 0 : 1;
    });
  }
  RunFor(absl::Seconds(5));
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kJobs));
}

TEST_F(MasterTest, RepeatedSubmitReturnsTheFirstJob) {
  AddWorkers(1);
  v1::JobSpec spec = Spec();
  spec.set_idempotency_key("k");
  std::vector<std::string> ids;
  for (int i = 0; i < 2; ++i) {
    v1::SubmitRequest request;
    *request.mutable_spec() = spec;
    master().jobs().Send<rpc::Submit>(
        request, [&ids](const auto& response) { ids.push_back(response->job_id()); });
  }
  RunFor(absl::Milliseconds(100));
  ids.push_back(*Submit(spec));
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_EQ(ids[0], ids[1]);
  EXPECT_EQ(ids[0], ids[2]);
}

class InputListingTest : public MasterTest {
 protected:
  InputListingTest() {
    AddWorkers(1);
    world_->storage().SetGate([this](const char* operation, const std::string& path) {
      if (path == "/in" && operation == std::string("list")) ++listings_;
      return absl::OkStatus();
    });
  }
  std::string SubmitDirectory(const std::string& output) {
    v1::JobSpec spec = Spec();
    spec.set_inputs(0, "/in");
    spec.set_output(output);
    const auto id = Submit(spec);
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  std::int64_t InputBytesOf(const std::string& id) {
    const v1::JobStatus status = StatusOf(id);
    EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
    return status.counters_size() == 1 ? status.counters(0).value() : -1;
  }
  int listings_ = 0;
};

TEST_F(InputListingTest, IsDoneOnceForAJobThatBeginsAtOnce) {
  const std::string id = SubmitDirectory("/out/x");
  RunFor(absl::Seconds(30));
  EXPECT_EQ(InputBytesOf(id), 1'000'000'000);
  EXPECT_EQ(listings_, 1);
}

TEST_F(InputListingTest, IsDoneAgainOnceAJobHasWaited) {
  const std::string first = SubmitDirectory("/out/x");
  const std::string second = SubmitDirectory("/out/y");
  EXPECT_EQ(StatusOf(second).state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(listings_, 2);
  ASSERT_TRUE(world_->storage().WriteSized("/in/late", 5'000).ok());
  RunFor(absl::Seconds(60));
  EXPECT_EQ(InputBytesOf(first), 1'000'000'000);
  EXPECT_EQ(InputBytesOf(second), 1'000'005'000) << "what came while it waited is read";
  EXPECT_EQ(listings_, 3);
}

TEST_F(InputListingTest, AJobThatWaitedDoesNotOverwriteWhatHasBecomeItsInput) {
  sim::MemoryStorage& storage = world_->storage();
  ASSERT_TRUE(storage.MakeDirectory("/in/earlier").ok());
  ASSERT_TRUE(storage.WriteSized("/in/earlier/part-00001", 100).ok());
  AddWorkers(2);                    // so that there is a second part
  SubmitDirectory("/out/results");  // what Weir wrote may be overwritten, but not while it is read
  v1::JobSpec spec = Spec();
  // No first part, which a submission knows that every output will have.
  spec.set_inputs(0, "/*/*/part-00001");
  spec.set_output("/out/results");
  spec.set_overwrite(true);
  const auto id = Submit(spec);
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Seconds(60));
  EXPECT_EQ(StatusOf(*id).error().code(), job_error::kInvalidJob);
  EXPECT_TRUE(storage.Stat("/out/results/part-00001").ok());
}

TEST_F(MasterTest, WatchTellsEveryStateInOrder) {
  AddWorkers(2);
  const auto id = Submit(Spec());
  ASSERT_TRUE(id.ok());
  std::vector<v1::JobState> states;
  std::int64_t sequence = -1;
  bool ended = false;
  v1::WatchRequest request;
  request.set_job_id(*id);
  const auto subscription = master().jobs().Subscribe<rpc::Watch>(
      request,
      [&](const v1::JobStatus& status) {
        EXPECT_GT(status.sequence(), sequence);
        sequence = status.sequence();
        if (states.empty() || states.back() != status.state()) states.push_back(status.state());
      },
      [&](const absl::Status& end) {
        EXPECT_TRUE(end.ok());
        ended = true;
      });
  RunFor(absl::Minutes(1));
  EXPECT_TRUE(ended);
  ASSERT_GE(states.size(), 3u);
  EXPECT_EQ(states.back(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(std::is_sorted(states.begin(), states.end()));
}

TEST_F(MasterTest, CancelledJobIsCancelledHoweverOftenItIsAskedFor) {
  AddWorkers(2);
  const auto id = Submit(Spec());
  ASSERT_TRUE(id.ok());
  RunFor(absl::Milliseconds(500));
  absl::Status first = absl::UnknownError("");
  v1::CancelRequest request;
  request.set_job_id(*id);
  request.set_reason("wrong\ninput");
  master().jobs().Send<rpc::Cancel>(request, [&](const auto& r) { first = r.status(); });
  EXPECT_TRUE(first.ok()) << first;
  absl::Status again = absl::UnknownError("");
  master().jobs().Send<rpc::Cancel>(request, [&](const auto& r) { again = r.status(); });
  EXPECT_TRUE(again.ok()) << "that is what it is about: " << again;
  RunFor(absl::Seconds(5));
  EXPECT_EQ(StatusOf(*id).state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(StatusOf(*id).error().message(), "the job was cancelled: wrong input");
  EXPECT_EQ(StatusOf(*id).error().code(), job_error::kCancelled);
  EXPECT_FALSE(world_->storage().Stat("/out/x").ok());
  request.set_job_id("j-unknown");
  master().jobs().Send<rpc::Cancel>(request, [&](const auto& r) { first = r.status(); });
  EXPECT_TRUE(absl::IsNotFound(first));
}

TEST_F(MasterTest, MessagesSayTheStateOfAJobAsItsStatusDoes) {
  AddWorkers(2);
  const auto id = Submit(Spec());
  ASSERT_TRUE(id.ok());
  const auto run_until = [&](v1::JobState state) {
    for (int i = 0; i < 60'000 && StatusOf(*id).state() != state; ++i) {
      RunFor(absl::Milliseconds(10));
    }
    ASSERT_EQ(StatusOf(*id).state(), state);
  };
  run_until(v1::JOB_STATE_RUNNING);
  absl::Status told;
  v1::GetLogsRequest logs;
  logs.set_job_id(*id);
  master().jobs().Send<rpc::GetLogs>(logs, [&](const auto& r) { told = r.status(); });
  EXPECT_TRUE(absl::StrContains(told.message(), " is running; logs are kept")) << told;
  run_until(v1::JOB_STATE_SUCCEEDED);
  v1::CancelRequest request;
  request.set_job_id(*id);
  master().jobs().Send<rpc::Cancel>(request, [&](const auto& r) { told = r.status(); });
  EXPECT_TRUE(absl::StrContains(told.message(), "has already ended (done)")) << told;
}

TEST_F(MasterTest, TaskErrorReachesTheUserWithItsLastWords) {
  AddWorkers(1);
  world_->FindWorker("worker-0")->faults().task_crashes = true;
  const auto id = Submit(Spec());
  ASSERT_TRUE(id.ok());
  RunFor(absl::Seconds(30));
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(status.error().code(), job_error::kTaskCrashed);
  EXPECT_EQ(status.error().worker(), "worker-0");
  EXPECT_TRUE(absl::StartsWith(status.error().step(), "map "));
  EXPECT_EQ(status.error().stderr_tail(), "last words of the task\n");
}

TEST_F(MasterTest, DryRunPlansWithoutATrace) {
  AddWorkers(2);
  v1::DryRunRequest request;
  *request.mutable_spec() = Spec();
  request.mutable_spec()->clear_output();
  bool answered = false;
  master().jobs().Send<rpc::DryRun>(request, [&](const auto& response) {
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_GT(response->plan().steps_size(), 0);
    EXPECT_EQ(response->plan().worker_names_size(), 2);
    answered = true;
  });
  RunFor(absl::Seconds(1));
  EXPECT_TRUE(answered);
  v1::ListJobsResponse jobs;
  master().jobs().Send<rpc::ListJobs>({}, [&](const auto& response) { jobs = *response; });
  EXPECT_EQ(jobs.jobs_size(), 0);
}

class ShutdownTest : public MasterTest {
 protected:
  /// Of a master whose two workers run a job. Returns its id.
  std::string ShutDown() {
    AddWorkers(2);
    const absl::StatusOr<std::string> id = Submit(Spec());
    EXPECT_TRUE(id.ok()) << id.status();
    RunFor(absl::Milliseconds(500));
    bool stopped = false;
    master().Shutdown([&stopped] { stopped = true; });
    RunFor(absl::Seconds(10));
    EXPECT_TRUE(stopped);
    EXPECT_TRUE(absl::IsUnavailable(Submit(Spec()).status()));
    return id.value_or("");
  }
};

TEST_F(ShutdownTest, ShutdownLeavesJobsToTheNextMasterAndStops) {
  ShutDown();
  EXPECT_TRUE(world_->journal().records().back().has_master_stopped());
  EXPECT_FALSE(world_->FindWorker("worker-0")->HeldJobs().empty()) << "the next one may go on";
}

TEST_F(ShutdownTest, ShutdownEndsJobsByNameWhereNoMasterFollows) {
  MasterOptions options;
  options.journal_outlives = false;
  world_.emplace(7, options, JobRates(), /*print=*/false);
  EXPECT_TRUE(world_->storage().WriteSized("/in/data", 1'000'000'000).ok());
  world_->StartMaster();
  const std::string id = ShutDown();
  EXPECT_TRUE(world_->FindWorker("worker-0")->HeldJobs().empty());
  EXPECT_FALSE(world_->storage().Stat("/out/x.weir-staging-" + id).ok());
}

TEST_F(MasterTest, StaleReportsAndNonsenseAreRefused) {
  AddWorkers(1);
  absl::Status answer;
  v1::ReportStepRequest report;
  report.mutable_fence()->set_job_id("j-none");
  master().cluster().Send<rpc::ReportStep>(report, [&](const auto& r) { answer = r.status(); });
  EXPECT_TRUE(absl::IsAborted(answer)) << answer;
  v1::HeartbeatRequest heartbeat;
  heartbeat.set_master_epoch(12345);
  master().cluster().Send<rpc::Heartbeat>(heartbeat, [&](const auto& r) { answer = r.status(); });
  EXPECT_TRUE(absl::IsAborted(answer)) << answer;
  master().cluster().Send<rpc::Register>({}, [&](const auto& r) { answer = r.status(); });
  EXPECT_TRUE(absl::IsInvalidArgument(answer)) << answer;
}

TEST_F(MasterTest, AJobWhoseWorkerReportsNonsenseFailsByName) {
  AddWorkers(1);
  const auto id = Submit(Spec());
  ASSERT_TRUE(id.ok());
  RunFor(absl::Seconds(1));
  ASSERT_EQ(StatusOf(*id).state(), v1::JOB_STATE_RUNNING);
  v1::ReportStepRequest report;
  report.mutable_fence()->set_job_id(*id);
  report.mutable_fence()->set_master_epoch(1);
  report.mutable_fence()->set_plan_epoch(1);
  report.mutable_result()->set_step(-1);
  absl::Status answer;
  const auto send = [&](std::int64_t worker_epoch) {
    report.mutable_fence()->set_worker_epoch(worker_epoch);
    master().cluster().Send<rpc::ReportStep>(report, [&](const auto& r) { answer = r.status(); });
    EXPECT_TRUE(absl::IsInvalidArgument(answer)) << answer;
  };
  v1::WorkerStatus worker;
  master().jobs().Send<rpc::ListWorkers>({}, [&](const auto& r) { worker = r->workers(0); });
  report.set_worker_id(worker.worker_id());
  send(worker.epoch() - 1);
  EXPECT_EQ(StatusOf(*id).state(), v1::JOB_STATE_RUNNING) << "fenced: nobody waits for it";
  send(worker.epoch());
  RunFor(absl::Seconds(5));
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(status.error().code(), job_error::kInternal);
  EXPECT_TRUE(absl::StrContains(status.error().message(), "result.step is '-1'"))
      << status.error().message();
}

TEST_F(MasterTest, EachCopyOfACallToJoinIsAnsweredUpToABound) {
  AddWorkers(0);
  std::vector<absl::Status> answers;
  const auto join = [&](const std::string& member) {
    v1::JoinGroupRequest request;
    request.set_group("g");
    request.set_size(2);
    request.set_rank(-1);
    request.set_member_key(member);
    request.set_endpoint(member + ":1");
    request.set_wait_ms(10'000);
    master().jobs().Send<rpc::JoinGroup>(
        request, [&answers](const auto& answer) { answers.push_back(answer.status()); });
  };
  join("a");
  join("a");
  EXPECT_TRUE(answers.empty()) << "which of them its sender listens to is not known here";
  join("b");
  EXPECT_EQ(answers, std::vector<absl::Status>(3, absl::OkStatus()));
  answers.clear();
  for (std::size_t copy = 0; copy <= kJoinCopiesMax; ++copy) join("c");
  ASSERT_EQ(answers.size(), 1u) << "the oldest";
  EXPECT_TRUE(absl::IsAborted(answers[0]));
  join("d");
  EXPECT_EQ(answers.size(), kJoinCopiesMax + 2);
}

}  // namespace
}  // namespace weir::master
