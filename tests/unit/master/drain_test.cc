// Workers that are asked to leave: what they have in hand ends, nothing new comes to them.

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

class DrainTest : public MasterTest {
 protected:
  DrainTest() { AddWorkers(2); }
  v1::WorkerState StateOf(const std::string& name) {
    v1::WorkerState state = v1::WORKER_STATE_UNSPECIFIED;
    master().jobs().Send<rpc::ListWorkers>({}, [&](const auto& response) {
      for (const v1::WorkerStatus& worker : response->workers()) {
        if (worker.identity().name() == name) state = worker.state();
      }
    });
    return state;
  }
  static v1::JobSpec SpecTo(const std::string& output) {
    v1::JobSpec spec = Spec();
    spec.set_output("/out/" + output);
    return spec;
  }
  /// Hands in a job of many map steps. Returns its id as soon as its plan runs.
  std::string StartLong() {
    v1::JobSpec spec = SpecTo("first");
    spec.set_num_mappers(40);
    const auto id = Submit(spec);
    EXPECT_TRUE(id.ok()) << id.status();
    while (StatusOf(*id).state() != v1::JOB_STATE_RUNNING) RunFor(absl::Milliseconds(1));
    return *id;
  }
  v1::Plan PlanOf(const std::string& id) {
    v1::Plan plan;
    v1::GetPlanRequest request;
    request.set_job_id(id);
    master().jobs().Send<rpc::GetPlan>(request, [&plan](const auto& response) {
      if (response.ok()) plan = response->plan();
    });
    RunFor(absl::Milliseconds(20));
    return plan;
  }
};

TEST_F(DrainTest, AWorkerThatDrainsEndsItsJobGetsNoOtherAndLeaves) {
  const auto first = Submit(SpecTo("first"));
  ASSERT_TRUE(first.ok()) << first.status();
  RunFor(absl::Seconds(1));
  ASSERT_EQ(StatusOf(*first).state(), v1::JOB_STATE_RUNNING);
  world_->FindWorker("worker-1")->Drain(absl::Minutes(10));
  const auto second = Submit(SpecTo("second"));
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(StateOf("worker-1"), v1::WORKER_STATE_DRAINING);
  RunFor(absl::Minutes(2));
  EXPECT_EQ(StatusOf(*first).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(PlanOf(*first).worker_names_size(), 2);
  EXPECT_EQ(StatusOf(*second).state(), v1::JOB_STATE_SUCCEEDED);
  ASSERT_EQ(PlanOf(*second).worker_names_size(), 1);
  EXPECT_EQ(PlanOf(*second).worker_names(0), "worker-0");
  EXPECT_EQ(StateOf("worker-1"), v1::WORKER_STATE_LEFT);
}

TEST_F(DrainTest, WhatHasNotBegunLeavesItAndItGoesBeforeTheJobEnds) {
  const auto id = Submit(SpecTo("first"));
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Milliseconds(500));
  ASSERT_EQ(StatusOf(*id).state(), v1::JOB_STATE_RUNNING);
  world_->FindWorker("worker-1")->Drain(absl::Minutes(10));
  bool left_before = false;
  for (int turn = 0; turn < 12000 && StatusOf(*id).state() == v1::JOB_STATE_RUNNING; ++turn) {
    left_before = left_before || StateOf("worker-1") == v1::WORKER_STATE_LEFT;
    RunFor(absl::Milliseconds(10));
  }
  EXPECT_TRUE(left_before) << "nobody needed it any more";
  RunFor(absl::Seconds(30));
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  EXPECT_EQ(status.losses_size(), 0) << "it left, and was not lost";
  int by_it = 0;
  for (const auto& [step, worker] : Commits()) by_it += worker == "worker-1" ? 1 : 0;
  EXPECT_EQ(by_it, 1) << "what it had in hand";
}

TEST_F(DrainTest, OneThatIsBackIsGivenWorkOfThePlanThatRuns) {
  const std::string id = StartLong();
  const sim::WorkerModel model = world_->FindWorker("worker-1")->model();
  world_->FindWorker("worker-1")->Drain(absl::Minutes(10));
  while (StateOf("worker-1") != v1::WORKER_STATE_LEFT) {
    ASSERT_EQ(StatusOf(id).state(), v1::JOB_STATE_RUNNING) << "it leaves before the job ends";
    RunFor(absl::Milliseconds(10));
  }
  const auto by_it = [this] {
    const auto commits = Commits();
    return std::count_if(commits.begin(), commits.end(),
                         [](const auto& commit) { return commit.second == "worker-1"; });
  };
  const auto before = by_it();
  world_->StartWorker(model);
  RunFor(absl::Minutes(2));
  const v1::JobStatus status = StatusOf(id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  EXPECT_EQ(status.losses_size(), 0) << "it left, and was not lost";
  EXPECT_TRUE(absl::StrContains(status.plan_text(), "worker-1 is back")) << status.plan_text();
  EXPECT_GT(by_it(), before) << "it does some of what is left";
}

TEST_F(DrainTest, WhatDoesNotEndAsSoonAsPlannedGoesToOthersInTime) {
  const std::string id = StartLong();
  for (const char* worker : {"worker-0", "worker-1"}) {
    world_->FindWorker(worker)->faults().cpu_slowness = 50;
  }
  while (StatusOf(id).progress().transfers_done() < 2) RunFor(absl::Milliseconds(10));
  world_->FindWorker("worker-1")->Drain(absl::Seconds(30));
  RunFor(absl::Seconds(33));
  EXPECT_EQ(StateOf("worker-1"), v1::WORKER_STATE_LEFT);
  ASSERT_EQ(StatusOf(id).state(), v1::JOB_STATE_RUNNING) << "it takes far longer than planned";
  RunFor(absl::Minutes(10));
  const v1::JobStatus status = StatusOf(id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  EXPECT_EQ(status.losses_size(), 0) << "nobody needed it when it left";
  std::set<int> steps;
  for (const auto& [step, worker] : Commits()) {
    EXPECT_TRUE(steps.insert(step).second) << "step " << step << " was done again";
  }
}

TEST_F(DrainTest, AnEditGivesItNothing) {
  sim::WorkerModel third;
  third.name = "worker-2";
  world_->StartWorker(third);
  RunFor(absl::Seconds(1));
  const auto id = Submit(SpecTo("first"));
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Milliseconds(500));
  ASSERT_EQ(StatusOf(*id).state(), v1::JOB_STATE_RUNNING);
  world_->FindWorker("worker-1")->Drain(absl::Minutes(10));
  RunFor(absl::Milliseconds(600));
  const std::size_t before = Commits().size();
  world_->KillWorker("worker-2");
  RunFor(absl::Minutes(3));
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  EXPECT_EQ(status.losses_size(), 1);
  EXPECT_EQ(before, 0U) << "the first steps were under way";
  int by_it = 0;
  for (const auto& [step, worker] : Commits()) by_it += worker == "worker-1" ? 1 : 0;
  EXPECT_EQ(by_it, 1) << "what it had in hand";
}

TEST_F(DrainTest, AJobThatIsBeingPlannedIsPlannedWithoutTheWorkerThatDrains) {
  for (int ms = 0; ms < 60; ++ms) {
    const auto id = Submit(SpecTo(std::to_string(ms)), absl::Milliseconds(ms));
    world_->FindWorker("worker-1")->Drain(absl::Seconds(30));
    RunFor(absl::Minutes(2));
    v1::ListJobsResponse jobs;
    master().jobs().Send<rpc::ListJobs>({}, [&](const auto& response) { jobs = *response; });
    ASSERT_EQ(jobs.jobs_size(), ms + 1) << ms;
    ASSERT_EQ(jobs.jobs(0).state(), v1::JOB_STATE_SUCCEEDED)
        << ms << " ms: " << DescribeJobError(jobs.jobs(0).error());
    ASSERT_EQ(StateOf("worker-1"), v1::WORKER_STATE_LEFT) << ms;
    sim::WorkerModel model;
    model.name = "worker-1";
    world_->StartWorker(model);
    RunFor(absl::Seconds(1));
  }
}

class SoleWorkerDrainTest : public MasterTest {
 protected:
  SoleWorkerDrainTest() : MasterTest(/*running_jobs_max=*/4) {
    EXPECT_TRUE(world_->storage().WriteSized("/in/long", 1'000'000'000'000).ok());
  }
  void Start(const std::string& name) {
    sim::WorkerModel model;
    model.name = name;
    world_->StartWorker(model);
    RunFor(absl::Seconds(1));
  }
  /// Hands a job in, and has the worker drain so long afterwards. The job's id; empty: it was
  /// refused, because nobody was there any more.
  std::string SubmitAndDrain(const std::string& output, absl::Duration after,
                             const std::string& worker, absl::Duration at_most) {
    std::string id;
    v1::SubmitRequest request;
    *request.mutable_spec() = Spec();
    request.mutable_spec()->set_output("/out/" + output);
    master().jobs().Send<rpc::Submit>(request, [&id](const auto& response) {
      if (response.ok()) id = response->job_id();
    });
    RunFor(after);
    world_->FindWorker(worker)->Drain(at_most);
    RunFor(absl::Seconds(20));
    return id;
  }
  void Cancel(const std::string& id) {
    v1::CancelRequest request;
    request.set_job_id(id);
    master().jobs().Send<rpc::Cancel>(request, [](const auto&) {});
  }
};

TEST_F(SoleWorkerDrainTest, AJobThatIsBeingPlannedWaitsForOthers) {
  for (int ms = 0; ms < 60; ms += 3) {
    const std::string tag = std::to_string(ms);
    Start("sole-" + tag);
    const std::string id =
        SubmitAndDrain(tag, absl::Milliseconds(ms), "sole-" + tag, absl::Seconds(1));
    Start("other-" + tag);
    RunFor(absl::Minutes(3));
    if (!id.empty()) {
      const v1::JobStatus status = StatusOf(id);
      ASSERT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED)
          << ms << " ms: " << DescribeJobError(status.error());
    }
    world_->FindWorker("other-" + tag)->Drain(absl::Seconds(1));
    RunFor(absl::Seconds(10));
  }
}

TEST_F(SoleWorkerDrainTest, SoItDoesWhereTheWorkerStaysForAnotherJob) {
  int waited = 0;
  for (int run = 0; run < 24; ++run) {
    const bool others = run % 2 == 0;
    const std::string tag = std::to_string(run);
    Start("sole-" + tag);
    v1::JobSpec in_hand = Spec();
    in_hand.set_inputs(0, "/in/long");
    in_hand.set_output("/out/long-" + tag);
    const auto first = Submit(in_hand);
    ASSERT_TRUE(first.ok()) << first.status();
    RunFor(absl::Seconds(5));
    ASSERT_EQ(StatusOf(*first).state(), v1::JOB_STATE_RUNNING);
    const std::string id =
        SubmitAndDrain(tag, absl::Milliseconds(run / 2 * 5), "sole-" + tag, absl::Minutes(10));
    const bool waits = !id.empty() && StatusOf(id).state() == v1::JOB_STATE_PLANNING;
    waited += waits ? 1 : 0;
    if (others) Start("other-" + tag);
    RunFor(absl::Seconds(90));
    if (waits) {
      const v1::JobStatus status = StatusOf(id);
      const std::string error = DescribeJobError(status.error());
      if (others) {
        ASSERT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << run << ": " << error;
      } else {
        ASSERT_EQ(status.error().code(), job_error::kNoWorkers) << run << ": " << error;
      }
    }
    Cancel(*first);
    if (!id.empty()) Cancel(id);
    if (others) world_->FindWorker("other-" + tag)->Drain(absl::Seconds(1));
    RunFor(absl::Seconds(20));
  }
  EXPECT_GT(waited, 0) << "no job was met while it was planned";
}

TEST_F(DrainTest, OneThatDoesNotEndInTimeLeavesAllTheSame) {
  EXPECT_TRUE(world_->storage().WriteSized("/in/data", 100'000'000'000).ok());
  ASSERT_TRUE(Submit(SpecTo("long")).ok());
  RunFor(absl::Seconds(1));
  world_->FindWorker("worker-1")->Drain(absl::Seconds(30));
  RunFor(absl::Seconds(29));
  EXPECT_EQ(StateOf("worker-1"), v1::WORKER_STATE_DRAINING);
  RunFor(absl::Seconds(4));
  EXPECT_EQ(StateOf("worker-1"), v1::WORKER_STATE_LEFT);
}

}  // namespace
}  // namespace weir::master
