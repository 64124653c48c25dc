// Workers that join while a job runs which was not planned for them: the whole master on virtual
// time.

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "runtime/master/job/job_machine.h"
#include "runtime/master/newcomers/return_pauses.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

class JoiningWorkersTest : public MasterTest {
 protected:
  explicit JoiningWorkersTest(std::int32_t running_jobs_max = 1) : MasterTest(running_jobs_max) {
    EXPECT_TRUE(world_->storage().WriteSized("/in/large", 10'000'000'000).ok());
  }
  /// 40 s of maps for one worker.
  static v1::JobSpec LargeSpec(int maps, int reducers, const std::string& output = "/out/x") {
    v1::JobSpec spec = Spec();
    spec.clear_inputs();
    spec.add_inputs("/in/large");
    spec.set_output(output);
    spec.set_sampling("off");
    spec.set_num_mappers(maps);
    spec.set_num_reducers(reducers);
    return spec;
  }
  std::string Running(const v1::JobSpec& spec) {
    const absl::StatusOr<std::string> id = Submit(spec);
    EXPECT_TRUE(id.ok()) << id.status();
    RunFor(absl::Seconds(2));
    EXPECT_EQ(StatusOf(*id).state(), v1::JOB_STATE_RUNNING);
    return *id;
  }
  void Start(const std::string& name) {
    sim::WorkerModel model;
    model.name = name;
    world_->StartWorker(model);
  }
  std::int64_t PreparationsAsked() {
    return world_->network().call_faults().called("weir.v1.WorkerService.PrepareJob");
  }
  /// Returns once the job that runs has it prepared, of which it has not heard yet.
  void StartAndHangWhenAsked(const std::string& name) {
    const std::int64_t before = PreparationsAsked();
    Start(name);
    RunFor(absl::Milliseconds(10));
    world_->HangWorker(name, absl::InfiniteDuration());
    for (int ms = 0; ms < 2000 && PreparationsAsked() == before; ++ms) {
      RunFor(absl::Milliseconds(1));
    }
    ASSERT_GT(PreparationsAsked(), before);
  }
  /// Killed and back, with a new one that hangs: both are asked to prepare, and one has.
  void RestartBeside(const std::string& name, const std::string& hung) {
    world_->KillWorker(name);
    RunFor(absl::Milliseconds(100));
    const std::int64_t before = PreparationsAsked();
    Start(name);
    RunFor(absl::Milliseconds(200));
    // Again where the answer to its registration is still on its way to it.
    ASSERT_GE(PreparationsAsked(), before + 2);
    ASSERT_FALSE(Holds(hung));
  }
  /// Returns at the moment at which it is asked to prepare, before it has heard that.
  void StartUntilAsked(const std::string& name) {
    const std::int64_t before = PreparationsAsked();
    Start(name);
    const MonoTime give_up = world_->time().now() + absl::Seconds(5);
    while (PreparationsAsked() == before && world_->time().now() < give_up) {
      world_->time().RunNext();
    }
    ASSERT_GT(PreparationsAsked(), before);
  }
  /// A job whose plan was edited for the loss of workers 1 and 2 of 3.
  std::string RunningWithoutTwo() {
    AddWorkers(3);
    const std::string id = Running(LargeSpec(40, 4));
    world_->KillWorker("worker-1");
    world_->KillWorker("worker-2");
    RunFor(absl::Seconds(3));
    EXPECT_EQ(StatusOf(id).losses_size(), 2);
    const v1::JobStatus status = StatusOf(id);
    for (const v1::WorkerLoss& loss : status.losses()) EXPECT_NE(loss.edit(), "");
    return id;
  }
  bool Holds(const std::string& worker) { return !world_->FindWorker(worker)->HeldJobs().empty(); }
  std::string PlanText(const std::string& id) {
    return absl::StrJoin(
        absl::StrSplit(StatusOf(id).plan_text(), absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
  }
  int CommitsOf(const std::string& worker) {
    const auto commits = Commits();
    return static_cast<int>(std::count_if(commits.begin(), commits.end(),
                                          [&](const auto& c) { return c.second == worker; }));
  }
  void RunToTheEndOf(const std::string& id) {
    for (int s = 0; s < 300 && !IsTerminal(StatusOf(id).state()); ++s) RunFor(absl::Seconds(1));
  }
  void ExpectSuccess(const std::string& id) {
    RunToTheEndOf(id);
    const v1::JobStatus status = StatusOf(id);
    ASSERT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
    ASSERT_EQ(status.counters_size(), 1);
    EXPECT_EQ(status.counters(0).value(), 10'000'000'000) << "each byte was counted once";
    RunFor(absl::Seconds(2));
    for (const auto& [name, worker] : world_->workers()) {
      if (!worker->loop()->alive()) continue;
      EXPECT_TRUE(worker->HeldJobs().empty()) << name;
    }
    EXPECT_EQ(world_->wrong(), std::vector<std::string>());
  }
  void ExpectNothingTwice() {
    std::map<int, int> commits;
    for (const auto& [step, worker] : Commits()) ++commits[step];
    for (const auto& [step, times] : commits) EXPECT_EQ(times, 1) << "step " << step;
  }
};

TEST_F(JoiningWorkersTest, ANewOneIsGivenWorkOfThePlanThatRuns) {
  AddWorkers(2);
  const std::string id = Running(LargeSpec(12, 4));
  Start("worker-2");
  RunFor(absl::Seconds(3));
  EXPECT_TRUE(Holds("worker-2"));
  const std::string told = PlanText(id);
  EXPECT_TRUE(absl::StrContains(told, "Edited while it ran: worker-2 joined.")) << told;
  EXPECT_TRUE(absl::StrContains(told, "Joined worker 2 (new): ")) << told;
  EXPECT_EQ(StatusOf(id).losses_size(), 0);
  ExpectSuccess(id);
  EXPECT_GT(CommitsOf("worker-2"), 2);
  ExpectNothingTwice();
}

TEST_F(JoiningWorkersTest, SeveralAreTakenAndAPlanOfOneWorkerTakesThemToo) {
  AddWorkers(1);
  const std::string id = Running(LargeSpec(12, 4));
  for (const char* name : {"worker-1", "worker-2", "worker-3"}) {
    Start(name);
    RunFor(absl::Milliseconds(400));
  }
  ExpectSuccess(id);
  for (const char* name : {"worker-1", "worker-2", "worker-3"}) EXPECT_GT(CommitsOf(name), 0);
  ExpectNothingTwice();
}

TEST_F(JoiningWorkersTest, WhereAllHasBegunItServesTheNextJob) {
  AddWorkers(2);
  const std::string id = Running(LargeSpec(2, 1));
  Start("worker-2");
  while (StatusOf(id).state() == v1::JOB_STATE_RUNNING) {
    RunFor(absl::Milliseconds(100));
    ASSERT_FALSE(Holds("worker-2")) << "it was prepared for nothing";
  }
  ExpectSuccess(id);
  EXPECT_FALSE(absl::StrContains(PlanText(id), "joined")) << PlanText(id);
  const std::string next = Running(LargeSpec(3, 1, "/out/next"));
  EXPECT_TRUE(Holds("worker-2"));
  ExpectSuccess(next);
}

TEST_F(JoiningWorkersTest, OneUnderAnotherNameStandsInForOneThatIsLost) {
  AddWorkers(2);
  const std::string id = Running(LargeSpec(2, 2));
  Start("worker-2");
  RunFor(absl::Seconds(2));
  EXPECT_FALSE(Holds("worker-2"));
  world_->KillWorker("worker-1");
  ExpectSuccess(id);
  EXPECT_EQ(StatusOf(id).losses_size(), 1);
  EXPECT_GT(CommitsOf("worker-2"), 0) << PlanText(id);
}

TEST_F(JoiningWorkersTest, ANewOneDoesNotEndTheWaitForOneThatMayBeBack) {
  AddWorkers(2);
  const std::string id = Running(LargeSpec(12, 4));
  while (CommitsOf("worker-1") < 2) RunFor(absl::Milliseconds(100));
  world_->KillWorker("worker-1");
  while (StatusOf(id).losses_size() == 0) RunFor(absl::Milliseconds(10));
  Start("worker-2");
  RunFor(absl::Milliseconds(550));
  EXPECT_EQ(StatusOf(id).losses(0).edit(), "");
  Start("worker-1");
  ExpectSuccess(id);
  ASSERT_EQ(StatusOf(id).losses_size(), 1);
  EXPECT_GE(StatusOf(id).losses(0).runs_kept(), 2);
  EXPECT_GT(CommitsOf("worker-2"), 0) << "it is given work afterwards";
}

TEST_F(JoiningWorkersTest, ANewOneThatCannotBePreparedDoesNotEndTheWaitForOneThatIsBack) {
  AddWorkers(2);
  const std::string id = Running(LargeSpec(12, 4));
  while (CommitsOf("worker-1") < 2) RunFor(absl::Milliseconds(100));
  StartAndHangWhenAsked("worker-2");
  world_->FindWorker("worker-2")->faults().disk_full = true;
  RestartBeside("worker-1", "worker-2");
  ASSERT_EQ(StatusOf(id).losses_size(), 1);
  EXPECT_EQ(StatusOf(id).losses(0).edit(), "") << "both are awaited";
  world_->FindWorker("worker-2")->GoOn();
  ExpectSuccess(id);
  ASSERT_EQ(StatusOf(id).losses_size(), 1);
  EXPECT_GE(StatusOf(id).losses(0).runs_kept(), 2) << StatusOf(id).losses(0).edit();
  EXPECT_LE(StatusOf(id).losses(0).steps_redone(), 1) << "what it had under way";
  EXPECT_EQ(CommitsOf("worker-2"), 0);
  ExpectNothingTwice();
}

TEST_F(JoiningWorkersTest, NorDoesOneThatIsLostBeforeItIsPrepared) {
  AddWorkers(2);
  const std::string id = Running(LargeSpec(12, 4));
  while (CommitsOf("worker-1") < 2) RunFor(absl::Milliseconds(100));
  StartAndHangWhenAsked("worker-2");
  RestartBeside("worker-1", "worker-2");
  EXPECT_EQ(StatusOf(id).losses(0).edit(), "") << "both are awaited";
  world_->KillWorker("worker-2");
  ExpectSuccess(id);
  ASSERT_EQ(StatusOf(id).losses_size(), 1);
  EXPECT_GE(StatusOf(id).losses(0).runs_kept(), 2) << StatusOf(id).losses(0).edit();
  EXPECT_LE(StatusOf(id).losses(0).steps_redone(), 1) << "what it had under way";
  ExpectNothingTwice();
}

TEST_F(JoiningWorkersTest, OneThatIsBackAndCannotBePreparedKeepsNobodyFromWork) {
  const std::string id = RunningWithoutTwo();
  const int of_1 = CommitsOf("worker-1");
  const int of_2 = CommitsOf("worker-2");
  StartUntilAsked("worker-1");
  world_->FindWorker("worker-1")->faults().disk_full = true;
  Start("worker-2");
  RunFor(absl::Seconds(2));
  Start("worker-3");
  ExpectSuccess(id);
  EXPECT_EQ(CommitsOf("worker-1"), of_1);
  EXPECT_GT(CommitsOf("worker-2"), of_2) << "another one that is back";
  EXPECT_GT(CommitsOf("worker-3"), 0) << "a new one";
}

TEST_F(JoiningWorkersTest, NorDoesOneThatIsBackAndLostBeforeItIsPrepared) {
  const std::string id = RunningWithoutTwo();
  const int of_2 = CommitsOf("worker-2");
  StartUntilAsked("worker-1");
  world_->HangWorker("worker-1", absl::InfiniteDuration());
  Start("worker-2");
  RunFor(absl::Seconds(1));
  EXPECT_EQ(CommitsOf("worker-2"), of_2) << "both are awaited";
  world_->KillWorker("worker-1");
  ExpectSuccess(id);
  EXPECT_GT(CommitsOf("worker-2"), of_2);
}

TEST_F(JoiningWorkersTest, OneThatIsKilledAndBackAtOnceIsNotNewAgain) {
  AddWorkers(2);
  const std::string id = Running(LargeSpec(12, 4));
  Start("worker-2");
  while (CommitsOf("worker-2") < 2) RunFor(absl::Milliseconds(100));
  world_->KillWorker("worker-2");
  RunFor(absl::Milliseconds(100));
  Start("worker-2");
  RunFor(absl::Seconds(2));
  const v1::JobStatus status = StatusOf(id);
  ASSERT_EQ(status.losses_size(), 1);
  EXPECT_GE(status.losses(0).runs_kept(), 2) << status.losses(0).edit();
  EXPECT_LE(status.losses(0).steps_redone(), 1) << "what it had under way";
  ExpectSuccess(id);
  EXPECT_TRUE(absl::StrContains(PlanText(id), "size 3 workers")) << PlanText(id);
  ExpectNothingTwice();
}

TEST_F(JoiningWorkersTest, ItsLossAtAnyMomentIsALossLikeAnyOther) {
  AddWorkers(2);
  int lost = 0;
  for (int ms = 0; ms < 4000; ms += 170) {
    const std::string output = "/out/" + std::to_string(ms);
    const std::string id = Running(LargeSpec(8, 3, output));
    const std::string name = "new-" + std::to_string(ms);
    Start(name);
    RunFor(absl::Milliseconds(ms));
    world_->KillWorker(name);
    ExpectSuccess(id);
    lost += StatusOf(id).losses_size();
  }
  EXPECT_GT(lost, 5) << "it had become one of the plan";
}

TEST_F(JoiningWorkersTest, OneThatDrainsGoes) {
  AddWorkers(2);
  const std::string id = Running(LargeSpec(12, 2));
  Start("worker-2");
  RunFor(absl::Seconds(3));
  ASSERT_TRUE(Holds("worker-2"));
  world_->FindWorker("worker-2")->Drain(absl::Minutes(10));
  ExpectSuccess(id);
  EXPECT_EQ(StatusOf(id).losses_size(), 0);
}

// As a daemon that ends each time it starts, and is started again: each return and each loss has
// the plan edited, while which nothing new begins.
TEST_F(JoiningWorkersTest, OneThatIsLostAgainAndAgainIsLeftAloneForAWhile) {
  AddWorkers(3);
  const std::string id = Running(LargeSpec(40, 3));
  for (int loss = 1; loss <= kReturnsAtOnce + 1; ++loss) {
    world_->KillWorker("worker-2");
    RunFor(absl::Milliseconds(1200));
    const std::int64_t before = PreparationsAsked();
    Start("worker-2");
    RunFor(absl::Milliseconds(1500));
    ASSERT_EQ(StatusOf(id).state(), v1::JOB_STATE_RUNNING);
    EXPECT_EQ(PreparationsAsked() > before, loss <= kReturnsAtOnce) << "loss " << loss;
  }
  ExpectSuccess(id);
}

class BesideEachOtherTest : public JoiningWorkersTest {
 protected:
  BesideEachOtherTest() : JoiningWorkersTest(3) {}
};

TEST_F(BesideEachOtherTest, JobsTakeNobodyUntilOneRunsAlone) {
  AddWorkers(2);
  const std::string small = Running(LargeSpec(8, 2));
  const std::string large = Running(LargeSpec(40, 2, "/out/y"));
  Start("worker-2");
  while (StatusOf(small).state() == v1::JOB_STATE_RUNNING &&
         StatusOf(large).state() == v1::JOB_STATE_RUNNING) {
    ASSERT_FALSE(Holds("worker-2"));
    RunFor(absl::Milliseconds(100));
  }
  RunToTheEndOf(small);
  ExpectSuccess(large);
  ExpectSuccess(small);
}

}  // namespace
}  // namespace weir::master
