// Workers that stay alive and fail a job - by a full disk, by tasks that die - and jobs that fail
// them: the whole master on virtual time.

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class WorkerFaultsTest : public MasterTest {
 protected:
  WorkerFaultsTest() { AddWorkers(3); }
  sim::WorkerFaults& Faults(int worker) {
    return world_->FindWorker("worker-" + std::to_string(worker))->faults();
  }
  std::string Begin() {
    const absl::StatusOr<std::string> id = Submit(Spec());
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or("");
  }
  static int CommitsOf(int step, const std::vector<std::pair<int, std::string>>& commits) {
    return static_cast<int>(std::count_if(commits.begin(), commits.end(),
                                          [step](const auto& c) { return c.first == step; }));
  }
  void ExpectEdited(const v1::JobStatus& status) {
    ASSERT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
    for (const v1::WorkerLoss& loss : status.losses()) {
      EXPECT_EQ(loss.plan_epoch(), 1) << "the plan goes on";
      EXPECT_FALSE(loss.edit().empty());
    }
  }
  // worker-1 failed twice, and was left out then.
  void ExpectDoneWithoutSecond(const v1::JobStatus& status) {
    ExpectEdited(status);
    ASSERT_EQ(status.losses_size(), 2);
    for (const v1::WorkerLoss& loss : status.losses()) EXPECT_EQ(loss.worker(), "worker-1");
    for (const auto& [step, worker] : Commits()) EXPECT_NE(worker, "worker-1") << step;
  }
};

TEST_F(WorkerFaultsTest, OneWithAFullDiskIsEditedAround) {
  const std::string id = Begin();
  Faults(1).disk_full = true;
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id);
  ExpectEdited(status);
  ASSERT_EQ(status.losses_size(), 1);
  EXPECT_EQ(status.losses(0).worker(), "worker-1");
  EXPECT_THAT(status.losses(0).why(), HasSubstr("No space left"));
  EXPECT_THAT(status.losses(0).step(), HasSubstr("map "));
  EXPECT_EQ(status.losses(0).steps_redone(), 1) << "what it had under way";
  for (const auto& [step, worker] : Commits()) EXPECT_NE(worker, "worker-1") << step;
}

TEST_F(WorkerFaultsTest, WhatTheOthersHaveDoneStaysDoneWhenADiskGetsFull) {
  std::vector<std::pair<std::string, v1::StepOrder>> begun;
  world_->WatchSteps([&begun](const std::string& worker, const v1::StepOrder& order) {
    begun.emplace_back(worker, order);
  });
  const std::string id = Begin();
  while (Commits().size() < 3) RunFor(absl::Milliseconds(10));
  int lost = -1;
  std::set<int> of_others;
  for (const auto& [step, worker] : Commits()) {
    if (worker == "worker-1") {
      lost = step;
    } else {
      of_others.insert(step);
    }
  }
  ASSERT_EQ(of_others.size(), 2u) << "each has made a map";
  const v1::Plan before = LastPlan().plan();
  begun.clear();
  Faults(1).disk_full = true;
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id);
  ExpectEdited(status);
  ASSERT_EQ(status.losses_size(), 1);
  EXPECT_EQ(status.losses(0).steps_redone(), 1);

  std::map<std::int64_t, std::int64_t> mapped_again;  // end by begin
  for (const auto& [worker, order] : begun) {
    EXPECT_FALSE(of_others.contains(order.step())) << order.label() << " was done";
    if (order.kind() != v1::STEP_KIND_MAP) continue;
    EXPECT_NE(worker, "worker-1") << order.label();
    EXPECT_TRUE(order.step() == lost || order.step() >= before.steps_size()) << order.label();
    for (const v1::InputRange& range : order.ranges()) {
      EXPECT_TRUE(mapped_again.emplace(range.begin(), range.end()).second) << order.label();
    }
  }
  // Whole or in parts: each byte of what the full one had mapped, once.
  std::int64_t end = before.steps(lost).input_begin();
  for (const auto& [part_begin, part_end] : mapped_again) {
    EXPECT_EQ(part_begin, end);
    end = part_end;
  }
  EXPECT_EQ(end, before.steps(lost).input_end());
  const auto commits = Commits();
  for (const auto& [step, worker] : commits) {
    if (step == lost) continue;
    EXPECT_EQ(CommitsOf(step, commits), 1) << step;
  }
}

TEST_F(WorkerFaultsTest, OneWithAFullDiskHoldsNothingWhileTheJobGoesOnElsewhere) {
  const std::string id = Begin();
  Faults(1).disk_full = true;
  while (StatusOf(id).losses_size() == 0) RunFor(absl::Milliseconds(10));
  const auto holds = [this] { return !world_->FindWorker("worker-1")->HeldJobs().empty(); };
  for (int i = 0; i < 100 && holds(); ++i) RunFor(absl::Milliseconds(10));
  EXPECT_FALSE(holds());
  EXPECT_EQ(StatusOf(id).state(), v1::JOB_STATE_RUNNING);
}

TEST_F(WorkerFaultsTest, WithAllDisksFullAJobEndsWithNumbersWithinHalfAMinute) {
  const std::string id = Begin();
  for (int worker = 0; worker < 3; ++worker) Faults(worker).disk_full = true;
  RunFor(absl::Seconds(30));
  const v1::JobStatus status = StatusOf(id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(status.error().code(), job_error::kDiskFull);
  EXPECT_THAT(status.error().message(),
              AllOf(HasSubstr("worker worker-0 has 1 bytes free"), HasSubstr("worker-1"),
                    HasSubstr("worker-2"), HasSubstr("needs about ")));
  for (int worker = 0; worker < 3; ++worker) {
    EXPECT_TRUE(world_->FindWorker("worker-" + std::to_string(worker))->HeldJobs().empty());
  }
}

TEST_F(WorkerFaultsTest, AWorkerThatIsLostLeavesTheJobToWaitForIt) {
  const std::string id = Begin();
  Faults(0).disk_full = Faults(1).disk_full = true;
  // What one disk tells holds for the other.
  while (StatusOf(id).losses_size() == 0) RunFor(absl::Milliseconds(10));
  const sim::WorkerModel model = world_->FindWorker("worker-2")->model();
  world_->KillWorker("worker-2");
  RunFor(absl::Seconds(10));
  EXPECT_EQ(StatusOf(id).state(), v1::JOB_STATE_PLANNING);
  world_->StartWorker(model);
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
}

TEST_F(WorkerFaultsTest, AFullOutputEndsTheJobWhateverWorkersAreLeft) {
  const std::string id = Begin();
  while (StatusOf(id).state() != v1::JOB_STATE_RUNNING) RunFor(absl::Milliseconds(10));
  world_->storage().SetFull(true);
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id);
  EXPECT_EQ(status.error().code(), job_error::kDiskFull);
  EXPECT_EQ(status.losses_size(), 0);
}

TEST_F(WorkerFaultsTest, AStepThatCrashesIsTriedElsewhereAndItsWorkerStays) {
  const std::string id = Begin();
  while (StatusOf(id).state() != v1::JOB_STATE_RUNNING) RunFor(absl::Milliseconds(10));
  RunFor(absl::Milliseconds(200));
  Faults(1).task_crashes = true;
  while (StatusOf(id).losses_size() == 0) RunFor(absl::Milliseconds(10));
  Faults(1).task_crashes = false;
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id);
  ExpectEdited(status);
  ASSERT_EQ(status.losses_size(), 1);
  EXPECT_EQ(status.losses(0).worker(), "worker-1");
  EXPECT_THAT(status.losses(0).why(), HasSubstr("SIGSEGV"));
  EXPECT_EQ(status.losses(0).steps_redone(), 0) << "nothing that was done";
  const auto commits = Commits();
  std::set<std::string> workers;
  for (const auto& [step, worker] : commits) {
    EXPECT_EQ(CommitsOf(step, commits), 1) << step;
    workers.insert(worker);
  }
  EXPECT_TRUE(workers.contains("worker-1")) << "its other steps stay, in another process";
}

// Three maps of 333 MB, which take 1.3 s, and that of worker 1 a bit longer: the others are heard
// to be done before it fails. What one has read is heard of each half a second.
TEST_F(WorkerFaultsTest, WhatAFailedAttemptHasReadIsNoProgress) {
  v1::JobSpec spec = Spec();
  spec.set_sampling("off");
  spec.set_plan_method("even");
  spec.set_num_mappers(3);
  Faults(1).task_crashes = true;
  Faults(1).cpu_slowness = 1.15;
  const absl::StatusOr<std::string> id = Submit(spec);
  ASSERT_TRUE(id.ok()) << id.status();
  const auto edited = [this, &id] {
    const v1::JobStatus status = StatusOf(*id);
    return status.losses_size() > 0 && !status.losses(0).edit().empty();
  };
  for (int ms = 0; ms < 10'000 && !edited(); ms += 10) RunFor(absl::Milliseconds(10));
  ASSERT_TRUE(edited());
  Faults(1).task_crashes = false;
  RunFor(absl::Milliseconds(250));
  const v1::JobStatus status = StatusOf(*id);
  ASSERT_EQ(status.losses_size(), 1);
  EXPECT_GT(status.progress().input_bytes_done(), 600'000'000) << "two maps are done";
  EXPECT_LT(status.progress().input_bytes_done(), 800'000'000)
      << "the third has begun anew a quarter of a second ago";
  RunFor(absl::Seconds(60));
  ExpectEdited(StatusOf(*id));
}

TEST_F(WorkerFaultsTest, OneWhoseTasksDieAgainIsLeftOut) {
  Faults(1).task_crashes = true;
  const std::string id = Begin();
  RunFor(absl::Seconds(60));
  ExpectDoneWithoutSecond(StatusOf(id));
}

TEST_F(WorkerFaultsTest, CodeThatFailsOnOneWorkerOnlyIsThatWorkersFault) {
  const std::string id = Begin();
  while (StatusOf(id).state() != v1::JOB_STATE_RUNNING) RunFor(absl::Milliseconds(10));
  RunFor(absl::Milliseconds(200));
  Faults(1).user_errors = true;
  for (int ms = 0; ms < 60'000 && StatusOf(id).losses_size() == 0; ms += 10) {
    RunFor(absl::Milliseconds(10));
  }
  Faults(1).user_errors = false;
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id);
  ExpectEdited(status);
  ASSERT_EQ(status.losses_size(), 1);
  EXPECT_EQ(status.losses(0).worker(), "worker-1");
  EXPECT_THAT(status.losses(0).why(),
              AllOf(HasSubstr("the job's code threw"), HasSubstr(" has done that step"),
                    HasSubstr("worker worker-1 is to blame")));
  const auto commits = Commits();
  for (const auto& [step, worker] : commits) EXPECT_EQ(CommitsOf(step, commits), 1) << step;
}

TEST_F(WorkerFaultsTest, OneOnWhichAllCodeFailsIsLeftOut) {
  Faults(1).user_errors = true;
  const std::string id = Begin();
  RunFor(absl::Seconds(60));
  ExpectDoneWithoutSecond(StatusOf(id));
}

TEST_F(WorkerFaultsTest, CodeOfAPlanOfOneWorkerFailsOnceAMachineBeforeItEndsTheJob) {
  for (int worker = 0; worker < 3; ++worker) Faults(worker).user_errors = true;
  const absl::StatusOr<std::string> id = Submit(EvenSpec(1, 1));
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(status.error().code(), job_error::kUserError);
  ASSERT_EQ(status.losses_size(), 1) << status.DebugString();
  EXPECT_NE(status.losses(0).worker(), status.error().worker());
}

TEST_F(WorkerFaultsTest, CodeThatFailsEverywhereEndsTheJobByItsOwnWords) {
  for (int worker = 0; worker < 3; ++worker) Faults(worker).user_errors = true;
  const std::string id = Begin();
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(status.error().code(), job_error::kUserError);
  EXPECT_THAT(status.error().message(),
              AllOf(HasSubstr("the job's code threw"), Not(HasSubstr("of the same input"))));
  EXPECT_GE(status.losses_size(), 1) << "it was tried elsewhere";
}

TEST_F(MasterTest, OnOneMachineCodeThatFailsEndsTheJobAtOnce) {
  for (const char* name : {"worker-0", "worker-1"}) {
    sim::WorkerModel model;
    model.name = name;
    model.handover_domain = "node";
    world_->StartWorker(model);
    world_->FindWorker(name)->faults().user_errors = true;
  }
  RunFor(absl::Seconds(1));
  const absl::StatusOr<std::string> id = Submit(Spec());
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(*id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(status.error().code(), job_error::kUserError);
  EXPECT_EQ(status.losses_size(), 0);
}

// A job's archives are unpacked when it is prepared: nothing runs yet.
TEST_F(WorkerFaultsTest, OneThatCannotUnpackArchivesIsPlannedWithout) {
  Faults(1).unpacking_fails = true;
  const std::string id = Begin();
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id);
  ASSERT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  ASSERT_EQ(status.losses_size(), 1);
  EXPECT_EQ(status.losses(0).worker(), "worker-1");
  EXPECT_THAT(status.losses(0).why(), HasSubstr("cannot unpack a.tar"));
  std::set<std::string> workers;
  for (const auto& [step, worker] : Commits()) workers.insert(worker);
  EXPECT_THAT(workers, testing::ElementsAre("worker-0", "worker-2"));
}

TEST_F(WorkerFaultsTest, WhereNobodyCanUnpackArchivesTheJobEnds) {
  for (int worker = 0; worker < 3; ++worker) Faults(worker).unpacking_fails = true;
  const std::string id = Begin();
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(status.error().code(), job_error::kInternal);
  EXPECT_THAT(status.error().message(), HasSubstr("cannot unpack a.tar"));
  EXPECT_EQ(status.losses_size(), 2) << "each was left out, as long as there was another";
}

TEST_F(WorkerFaultsTest, WhatAReaderFindsDamagedIsFetchedOnceMore) {
  world_->contents().SetReceivedDamage(1);
  const std::string id = Begin();
  while (StatusOf(id).losses_size() == 0) RunFor(absl::Milliseconds(10));
  world_->contents().SetReceivedDamage(0);
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id);
  ExpectEdited(status);
  EXPECT_THAT(status.losses(0).why(), HasSubstr("gets what it had read once more"));
  EXPECT_GT(status.losses(0).bytes_moved_again(), 0);
  const auto commits = Commits();
  for (const auto& [step, worker] : commits) EXPECT_EQ(CommitsOf(step, commits), 1) << step;
}

TEST_F(MasterTest, WhatAReaderFindsDamagedCountsOnceHoweverOftenItIsTold) {
  for (const char* name : {"worker-0", "worker-1"}) {
    sim::WorkerModel model;
    model.name = name;
    model.channel_seconds_per_byte = 1 / 2.5e7;  // so that it is told again while it is fetched
    world_->StartWorker(model);
  }
  RunFor(absl::Seconds(1));
  world_->contents().SetReceivedDamage(1);
  v1::JobSpec spec = EvenSpec(2, 1);
  const absl::StatusOr<std::string> id = Submit(spec);
  ASSERT_TRUE(id.ok()) << id.status();
  for (int ms = 0; ms < 60'000 && Commits().size() < 2; ++ms) RunFor(absl::Milliseconds(1));
  ASSERT_EQ(Commits().size(), 2u);
  sim::CallFaults& faults = world_->network().call_faults();
  const std::string method = "weir.v1.ClusterService.ReportStep";
  faults.Set(method, sim::CallFault::kErrorOfDone, 1);
  for (int ms = 0; ms < 60'000 && StatusOf(*id).losses_size() == 0; ++ms) {
    RunFor(absl::Milliseconds(1));
  }
  ASSERT_EQ(StatusOf(*id).losses_size(), 1);
  EXPECT_GT(faults.struck(method, sim::CallFault::kErrorOfDone), 0);
  faults.Clear();
  world_->contents().SetReceivedDamage(0);
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(*id);
  ASSERT_EQ(status.state(), v1::JOB_STATE_SUCCEEDED) << DescribeJobError(status.error());
  ASSERT_EQ(status.losses_size(), 1);
  EXPECT_THAT(status.losses(0).why(), HasSubstr("gets what it had read once more"));
  EXPECT_EQ(Commits().size(), 3u) << "no run was made again";
}

TEST_F(WorkerFaultsTest, ARunThatIsDamagedWhereItWasMadeIsMadeAgainAlone) {
  world_->contents().SetDamage(1);
  const std::string id = Begin();
  while (Commits().empty()) RunFor(absl::Milliseconds(1));
  world_->contents().SetDamage(0);
  RunFor(absl::Milliseconds(5));
  // Others may have ended at the same moment.
  std::set<int> maybe_damaged;
  for (const auto& [step, worker] : Commits()) maybe_damaged.insert(step);
  RunFor(absl::Seconds(120));
  const v1::JobStatus status = StatusOf(id);
  ExpectEdited(status);
  EXPECT_GE(status.losses_size(), 1);
  int made_again = 0;
  const auto commits = Commits();
  for (const auto& [step, worker] : commits) {
    const int times = CommitsOf(step, commits);
    EXPECT_LE(times, maybe_damaged.contains(step) ? 2 : 1) << step;
    made_again += times > 1 ? 1 : 0;
  }
  EXPECT_GT(made_again, 0);
}

TEST_F(WorkerFaultsTest, OneThatMakesTheSameRunDamagedAgainIsLeftOut) {
  // Whoever makes it: until one of them had two tries.
  world_->contents().SetDamage(1);
  const std::string id = Begin();
  RunFor(absl::Seconds(600));
  const v1::JobStatus status = StatusOf(id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(status.error().code(), job_error::kDataLoss);
  EXPECT_FALSE(status.error().worker().empty());
}

TEST_F(WorkerFaultsTest, CodeThatCrashesEndsTheJobNamingItsInputAfterOneMoreTry) {
  for (int worker = 0; worker < 3; ++worker) Faults(worker).task_crashes = true;
  const std::string id = Begin();
  RunFor(absl::Seconds(60));
  const v1::JobStatus status = StatusOf(id);
  EXPECT_EQ(status.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(status.error().code(), job_error::kTaskCrashed);
  EXPECT_GE(status.losses_size(), 1);
  EXPECT_EQ(status.error().file(), "/in/data");
  EXPECT_THAT(status.error().message(),
              AllOf(HasSubstr("of the same input"), HasSubstr("it was given /in/data from byte "),
                    HasSubstr("so did that of worker worker-"),
                    Not(HasSubstr("that of worker " + status.error().worker()))));
  EXPECT_EQ(status.error().stderr_tail(), "last words of the task\n");
}

}  // namespace
}  // namespace weir::master
