// Workers that die, hang or are cut off, and what the master makes of it: the whole master on
// virtual time.

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/master/job/job_machine.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

class LostWorkersTest : public MasterTest {
 protected:
  LostWorkersTest() { AddWorkers(2); }
  void ExpectPlannedFor(const std::string& job_id, int workers) {
    v1::GetPlanRequest get;
    get.set_job_id(job_id);
    master().jobs().Send<rpc::GetPlan>(get, [workers](const auto& response) {
      ASSERT_TRUE(response.ok()) << response.status();
      EXPECT_EQ(response->plan().worker_names_size(), workers);
    });
  }
  // By number in its name: which one registers first is up to the network.
  v1::WorkerStatus Worker(int number) {
    v1::WorkerStatus found;
    master().jobs().Send<rpc::ListWorkers>({}, [&](const auto& response) {
      EXPECT_EQ(response->workers_size(), 2);
      for (const v1::WorkerStatus& worker : response->workers()) {
        if (worker.identity().name() == "worker-" + std::to_string(number)) found = worker;
      }
    });
    return found;
  }
  v1::WorkerState StateOf(int number) { return Worker(number).state(); }
};

TEST_F(LostWorkersTest, AreListedBesideThoseAlive) {
  world_->KillWorker("worker-1");
  RunFor(absl::Seconds(7));
  EXPECT_EQ(StateOf(0), v1::WORKER_STATE_ALIVE);
  EXPECT_EQ(StateOf(1), v1::WORKER_STATE_LOST);
  EXPECT_GT(Worker(1).seconds_since_heartbeat(), 6);
}

TEST_F(LostWorkersTest, AKilledOneIsNoticedAsSoonAsItsConnectionBreaks) {
  world_->KillWorker("worker-1");
  RunFor(2 * limits::kProcessEndSettles);
  EXPECT_EQ(StateOf(0), v1::WORKER_STATE_ALIVE);
  EXPECT_EQ(StateOf(1), v1::WORKER_STATE_LOST);
}

TEST_F(LostWorkersTest, OneWhoseConnectionBreaksButThatListensIsNotLost) {
  world_->network().BreakHeld("worker-1:7001");
  RunFor(absl::Seconds(7));
  EXPECT_EQ(StateOf(1), v1::WORKER_STATE_ALIVE);
  world_->KillWorker("worker-1");
  RunFor(2 * limits::kProcessEndSettles);
  EXPECT_EQ(StateOf(1), v1::WORKER_STATE_LOST) << "the connection was made again";
}

TEST_F(LostWorkersTest, AKilledOneIsNoticedWithinASecondAndThePlanEdited) {
  const absl::StatusOr<std::string> id = Submit(Spec());
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Seconds(1));
  ASSERT_EQ(StatusOf(*id).state(), v1::JOB_STATE_RUNNING);
  world_->KillWorker("worker-1");
  RunFor(absl::Seconds(1));
  EXPECT_EQ(StateOf(1), v1::WORKER_STATE_LOST);
  RunFor(absl::Seconds(1));
  v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_RUNNING) << "again";
  ASSERT_EQ(status.losses_size(), 1);
  EXPECT_EQ(status.losses(0).worker(), "worker-1");
  EXPECT_EQ(status.losses(0).plan_epoch(), 1) << "the plan goes on";
  EXPECT_FALSE(status.losses(0).step().empty());
  EXPECT_TRUE(absl::StrContains(status.losses(0).why(), "nobody listens at worker-1:7001"))
      << status.losses(0).why();
  EXPECT_FALSE(status.losses(0).edit().empty());
  EXPECT_EQ(status.losses(0).steps_redone(), 1) << "what it had begun";
  const std::string told = absl::StrJoin(
      absl::StrSplit(status.plan_text(), absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
  EXPECT_TRUE(absl::StrContains(told, "Edited while it ran: worker worker-1 was lost")) << told;
  EXPECT_TRUE(absl::StrContains(told, status.losses(0).edit())) << told;
  RunFor(absl::Seconds(120));
  status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  EXPECT_TRUE(world_->FindWorker("worker-0")->HeldJobs().empty());
}

TEST_F(LostWorkersTest, ThePlanOfATreeIsEditedToo) {
  v1::JobSpec spec = Spec();
  spec.set_combine("tree");
  const absl::StatusOr<std::string> id = Submit(spec);
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Seconds(1));
  ASSERT_EQ(StatusOf(*id).state(), v1::JOB_STATE_RUNNING);
  world_->KillWorker("worker-1");
  RunFor(absl::Seconds(120));
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  ASSERT_EQ(status.losses_size(), 1);
  EXPECT_EQ(status.losses(0).plan_epoch(), 1) << "the plan goes on";
  EXPECT_FALSE(status.losses(0).edit().empty());
}

TEST_F(LostWorkersTest, OneThatIsBackIsGivenWorkOfThePlanThatRuns) {
  const absl::StatusOr<std::string> id = Submit(Spec());
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Seconds(1));
  const sim::WorkerModel model = world_->FindWorker("worker-1")->model();
  world_->KillWorker("worker-1");
  RunFor(absl::Seconds(1));
  EXPECT_EQ(StatusOf(*id).losses_size(), 1);
  world_->StartWorker(model);
  RunFor(absl::Seconds(1));
  EXPECT_FALSE(world_->FindWorker("worker-1")->HeldJobs().empty());
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_TRUE(absl::StrContains(status.plan_text(), "worker-1 is back")) << status.plan_text();
  RunFor(absl::Seconds(120));
  EXPECT_EQ(StatusOf(*id).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(world_->FindWorker("worker-1")->HeldJobs().empty());
}

TEST_F(LostWorkersTest, OneThatIsBackUnderItsNameIsUsedForTheNextPlan) {
  const absl::StatusOr<std::string> id = Submit(Spec());
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Seconds(1));
  // Its successor stands in its place before anybody has missed it.
  const sim::WorkerModel model = world_->FindWorker("worker-1")->model();
  world_->KillWorker("worker-1");
  world_->StartWorker(model);
  RunFor(absl::Seconds(3));
  ExpectPlannedFor(*id, 2);
  RunFor(absl::Seconds(120));
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  EXPECT_EQ(status.losses_size(), 1);
}

TEST_F(LostWorkersTest, WithoutAnyAJobWaitsAndThenNamesThem) {
  const absl::StatusOr<std::string> id = Submit(Spec());
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Seconds(1));
  world_->KillWorker("worker-0");
  world_->KillWorker("worker-1");
  RunFor(limits::kWorkerGrace - absl::Seconds(1));
  EXPECT_EQ(StatusOf(*id).state(), v1::JOB_STATE_PLANNING);
  RunFor(absl::Seconds(8));
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(status.error().code(), job_error::kNoWorkers);
  for (const char* worker : {"worker-0", "worker-1"}) {
    EXPECT_TRUE(absl::StrContains(status.error().message(), worker)) << status.error().message();
  }
}

TEST_F(LostWorkersTest, AJobThatWaitsTakesThoseThatComeBackTogether) {
  const absl::StatusOr<std::string> id = Submit(Spec());
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Seconds(1));
  std::vector<sim::WorkerModel> models;
  for (const char* worker : {"worker-0", "worker-1"}) {
    models.push_back(world_->FindWorker(worker)->model());
    world_->KillWorker(worker);
  }
  RunFor(absl::Seconds(20));
  world_->StartWorker(models[0]);
  RunFor(absl::Seconds(2));
  world_->StartWorker(models[1]);
  RunFor(absl::Seconds(4));
  ExpectPlannedFor(*id, 2);
  RunFor(absl::Seconds(120));
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
}

TEST_F(LostWorkersTest, AGivenPlanWaitsForTheWorkerThatItNames) {
  v1::GetPlanRequest get;
  v1::Plan plan;
  v1::DryRunRequest dry;
  *dry.mutable_spec() = Spec();
  master().jobs().Send<rpc::DryRun>(dry, [&plan](const auto& response) {
    ASSERT_TRUE(response.ok()) << response.status();
    plan = response->plan();
  });
  RunFor(absl::Seconds(10));
  ASSERT_EQ(plan.worker_names_size(), 2);
  const sim::WorkerModel model = world_->FindWorker("worker-1")->model();
  for (const bool returns : {true, false}) {
    v1::JobSpec spec = Spec();
    spec.set_output(returns ? "/out/returns" : "/out/stays-away");
    *spec.mutable_plan() = plan;
    const absl::StatusOr<std::string> id = Submit(spec);
    ASSERT_TRUE(id.ok()) << id.status();
    RunFor(absl::Seconds(1));
    ASSERT_EQ(StatusOf(*id).state(), v1::JOB_STATE_RUNNING);
    world_->KillWorker("worker-1");
    RunFor(absl::Seconds(10));
    EXPECT_EQ(StatusOf(*id).state(), v1::JOB_STATE_PLANNING);
    if (returns) world_->StartWorker(model);
    RunFor(absl::Seconds(120));
    const v1::JobStatus status = StatusOf(*id);
    if (returns) {
      EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
      EXPECT_EQ(status.plan_id(), plan.plan_id());
    } else {
      EXPECT_EQ(status.error().code(), job_error::kWorkerLost);
      EXPECT_EQ(status.error().worker(), "worker-1");
    }
  }
}

TEST_F(LostWorkersTest, OneThatBeatsAndAnswersNobodyIsLeftOutAfterAWhile) {
  const absl::StatusOr<std::string> id = Submit(Spec());
  ASSERT_TRUE(id.ok()) << id.status();
  while (StatusOf(*id).plan_id().empty()) RunFor(absl::Milliseconds(1));
  world_->network().Detach("worker-1:7001");
  RunFor(limits::kPeerPatience - absl::Seconds(2));
  EXPECT_EQ(StatusOf(*id).losses_size(), 0) << "its lease may still end";
  RunFor(absl::Seconds(120));
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  ASSERT_EQ(status.losses_size(), 1);
  EXPECT_EQ(status.losses(0).worker(), "worker-1");
  ExpectPlannedFor(*id, 1);
}

TEST_F(LostWorkersTest, OneThatTakesNoMoreOrdersIsLeftOutOfThePlanThatRuns) {
  v1::JobSpec spec = Spec();
  spec.set_plan_method("even");
  spec.set_num_reducers(2);
  const absl::StatusOr<std::string> id = Submit(spec);
  ASSERT_TRUE(id.ok()) << id.status();
  while (StatusOf(*id).progress().steps_done() == 0) {
    ASSERT_FALSE(IsTerminal(StatusOf(*id).state()));
    RunFor(absl::Milliseconds(1));
  }
  world_->network().Detach("worker-1:7001");
  RunFor(absl::Seconds(240));
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  for (const v1::WorkerLoss& loss : status.losses()) {
    EXPECT_EQ(loss.worker(), "worker-1") << loss.why();
  }
}

TEST_F(MasterTest, TheOnlyOneThatBeatsAndAnswersNobodyEndsTheJobByNameAfterAWhile) {
  AddWorkers(1);
  const absl::StatusOr<std::string> id = Submit(Spec());
  ASSERT_TRUE(id.ok()) << id.status();
  while (StatusOf(*id).plan_id().empty()) RunFor(absl::Milliseconds(1));
  world_->network().Detach("worker-0:7001");
  RunFor(limits::kPeerPatience - absl::Seconds(2));
  EXPECT_FALSE(IsTerminal(StatusOf(*id).state())) << "its lease may still end";
  RunFor(absl::Seconds(20));
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.error().code(), job_error::kWorkerUnreachable);
  EXPECT_EQ(status.error().worker(), "worker-0");
}

TEST_F(MasterTest, AWorkerLostAtAnyMomentBeforeTheRunIsPlannedAround) {
  AddWorkers(3);
  int lost_before_the_run = 0;
  for (int ms = 0; ms < 300; ++ms) {
    std::string id;
    v1::SubmitRequest request;
    *request.mutable_spec() = Spec();
    master().jobs().Send<rpc::Submit>(request,
                                      [&id](const auto& response) { id = response->job_id(); });
    RunFor(absl::Milliseconds(ms));
    world_->KillWorker("worker-2");
    RunFor(absl::Seconds(60));
    for (const char* worker : {"worker-0", "worker-1"}) {
      EXPECT_TRUE(world_->FindWorker(worker)->HeldJobs().empty()) << ms;
    }
    const v1::JobStatus status = StatusOf(id);
    // Noticed while it ran a step: what that means is told by other tests.
    if (status.losses_size() > 0 && !status.losses(0).step().empty()) break;
    ++lost_before_the_run;
    ASSERT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED)
        << ms << " ms: " << DescribeJobError(status.error());
    EXPECT_TRUE(world_->storage().RemoveAll("/out/x").ok());
    sim::WorkerModel model;
    model.name = "worker-2";
    world_->StartWorker(model);
    RunFor(absl::Seconds(1));
  }
  EXPECT_GT(lost_before_the_run, 40) << "planning, staging and preparing take their time";
}

class UnneededWorkerTest : public MasterTest {
 protected:
  UnneededWorkerTest() { AddWorkers(4); }
  /// A job with one reducer, run so far that its plan is known.
  std::string Planned(int number) {
    v1::JobSpec spec = Spec();
    spec.set_output("/out/" + std::to_string(number));
    spec.set_num_mappers(2);
    spec.set_num_reducers(1);
    std::string id;
    v1::SubmitRequest request;
    *request.mutable_spec() = spec;
    master().jobs().Send<rpc::Submit>(request,
                                      [&id](const auto& response) { id = response->job_id(); });
    while (id.empty() || StatusOf(id).plan_id().empty()) RunFor(absl::Milliseconds(1));
    v1::GetPlanRequest get;
    get.set_job_id(id);
    master().jobs().Send<rpc::GetPlan>(get,
                                       [this](const auto& response) { plan_ = response->plan(); });
    RunFor(absl::Milliseconds(1));
    return id;
  }
  /// Name of a worker that does something in the plan, or of one that does nothing.
  std::string NameOfOneThatWorks(bool works) const {
    for (int w = 0; w < plan_.worker_names_size(); ++w) {
      const bool idle = plan_.compute_order(w).index().empty() &&
                        plan_.send_order(w).index().empty() &&
                        plan_.receive_order(w).index().empty();
      if (idle != works) return plan_.worker_names(w);
    }
    ADD_FAILURE() << "no such worker";
    return "";
  }
  void Replace(const std::string& worker) {
    sim::WorkerModel model;
    model.name = worker;
    world_->StartWorker(model);
    RunFor(absl::Seconds(1));
  }
  v1::Plan plan_;
};

TEST_F(UnneededWorkerTest, OneThatThePlanDoesNotUseMayDieInEveryPhase) {
  for (int number = 0; number < 20; ++number) {
    const std::string id = Planned(number);
    const std::string unused = NameOfOneThatWorks(false);
    RunFor(absl::Milliseconds(200) * number);
    world_->KillWorker(unused);
    RunFor(absl::Seconds(60));
    const v1::JobStatus status = StatusOf(id);
    EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED)
        << number << ": " << DescribeJobError(status.error());
    Replace(unused);
  }
}

TEST_F(UnneededWorkerTest, OneThatHasDoneItsPartMayDie) {
  int idle = 0;
  int needed = 0;
  for (int number = 0; number < 40; ++number) {
    const std::string id = Planned(number);
    RunFor(absl::Milliseconds(100) * number);
    const v1::JobStatus before = StatusOf(id);
    // All is where the only reducer is; find a mapper elsewhere.
    const bool all_moved =
        before.state() == v1::JOB_STATE_RUNNING &&
        before.progress().transfers_done() == before.progress().transfers_total();
    const int reducer = plan_.steps(plan_.steps_size() - 1).worker();
    const int mapper =
        plan_.steps(0).worker() == reducer ? plan_.steps(1).worker() : plan_.steps(0).worker();
    ASSERT_NE(mapper, reducer);
    world_->KillWorker(plan_.worker_names(mapper));
    RunFor(absl::Seconds(60));
    const v1::JobStatus status = StatusOf(id);
    EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
    if (all_moved) {
      EXPECT_EQ(status.losses_size(), 0) << "nothing was planned again";
      ++idle;
    }
    needed += status.losses_size();
    Replace(plan_.worker_names(mapper));
  }
  EXPECT_GT(idle, 0) << "no job was met while it reduced";
  EXPECT_GT(needed, 0) << "no job was met before";
}

TEST_F(UnneededWorkerTest, OneThatDiesWhileThePlanIsEditedGetsNoWorkOfIt) {
  // The reducer dies, the edit takes its time, and the only other one that holds the job, whom the
  // plan before needed no more, dies meanwhile.
  int met = 0;
  for (int number = 0; number < 8; ++number) {
    const std::string id = Planned(number);
    v1::JobStatus before = StatusOf(id);
    while (before.state() != v1::JOB_STATE_SUCCEEDED &&
           (before.state() != v1::JOB_STATE_RUNNING ||
            before.progress().transfers_done() < before.progress().transfers_total())) {
      RunFor(absl::Milliseconds(50));
      before = StatusOf(id);
    }
    ASSERT_EQ(before.state(), v1::JOB_STATE_RUNNING);
    const int reducer = plan_.steps(plan_.steps_size() - 1).worker();
    const int mapper =
        plan_.steps(0).worker() == reducer ? plan_.steps(1).worker() : plan_.steps(0).worker();
    world_->SlowPlanning(absl::Seconds(6));
    world_->KillWorker(plan_.worker_names(reducer));
    RunFor(absl::Milliseconds(1100));  // by then its loss is known, and some edits are made
    world_->KillWorker(plan_.worker_names(mapper));
    RunFor(absl::Seconds(40));
    const v1::JobStatus status = StatusOf(id);
    EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED)
        << number << ": " << DescribeJobError(status.error());
    met += status.losses_size() > 0 ? 1 : 0;
    world_->SlowPlanning(absl::Milliseconds(3));
    Replace(plan_.worker_names(reducer));
    Replace(plan_.worker_names(mapper));
  }
  EXPECT_GT(met, 0);
}

TEST_F(LostWorkersTest, AHungOneKeepsItsLease) {
  world_->HangWorker("worker-1", absl::InfiniteDuration());
  RunFor(absl::Seconds(5));
  EXPECT_EQ(StateOf(1), v1::WORKER_STATE_ALIVE);
  RunFor(absl::Seconds(2));
  EXPECT_EQ(StateOf(1), v1::WORKER_STATE_LOST);
}

TEST_F(LostWorkersTest, OneWhoseControlPortBreaksButThatBeatsIsNotLost) {
  world_->network().Detach("worker-1:7001");
  RunFor(absl::Seconds(7));
  EXPECT_EQ(StateOf(1), v1::WORKER_STATE_ALIVE);
}

}  // namespace
}  // namespace weir::master
