// The real daemon on simulated ground: what it charges and leaves, and that each promise which the
// simulator checks is found when it is broken.

#include "tests/sim/sim_worker.h"

#include <cstddef>

#include "runtime/base/job_errors.h"
#include "tests/sim/sim_worker_fixture.h"

namespace weir::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(SimWorkerTest, AStepTakesItsTimeAndAReleaseLeavesNothing) {
  StartWorkers({"a"});
  ASSERT_TRUE(Prepare("a").ok());
  ASSERT_TRUE(StartStep("a", Map(0, 2 * kSecondOfMap)).ok());
  RunFor(absl::Milliseconds(1900));
  EXPECT_THAT(master_.steps, IsEmpty());
  const v1::StepProgress progress = master_.heartbeats.back().progress(0);
  EXPECT_GT(progress.input_bytes_done(), kSecondOfMap);
  EXPECT_LT(progress.input_bytes_done(), 2 * kSecondOfMap);
  RunFor(absl::Milliseconds(200));
  ASSERT_EQ(master_.steps.size(), 1u);
  const v1::StepResult& result = master_.steps[0].result();
  EXPECT_NEAR(result.run_s(), 2, 0.001);
  EXPECT_EQ(result.run().bytes(), 2 * kSecondOfMap + 32);
  EXPECT_TRUE(world_.disks().Stat(result.run().path()).ok());
  EXPECT_THAT(At("a").HeldJobs(), ElementsAre("j"));
  EXPECT_TRUE(Release("a").ok());
  EXPECT_THAT(At("a").HeldJobs(), IsEmpty());
  EXPECT_FALSE(world_.disks().Stat(result.run().path()).ok());
  EXPECT_THAT(world_.wrong(), IsEmpty());
}

TEST_F(SimWorkerTest, StaleOrdersAreRefusedAndNobodyIsBlamed) {
  StartWorkers({"a"});
  ASSERT_TRUE(Prepare("a").ok());
  --master_.epochs["a"];
  EXPECT_TRUE(absl::IsAborted(StartStep("a", Map(0, 1))));
  ++master_.epochs["a"];
  ASSERT_TRUE(Release("a").ok());
  EXPECT_TRUE(absl::IsNotFound(StartStep("a", Map(0, 1))));
  EXPECT_THAT(world_.wrong(), IsEmpty());
}

TEST_F(SimWorkerTest, TwoStepsAtOnceAreWrong) {
  StartWorkers({"a"});
  ASSERT_TRUE(Prepare("a").ok());
  ASSERT_TRUE(StartStep("a", Map(0, kSecondOfMap)).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(StartStep("a", Map(1, kSecondOfMap))));
  EXPECT_THAT(world_.wrong(), ElementsAre(HasSubstr("had to refuse StartStep")));
}

TEST_F(SimWorkerTest, AStepForAJobThatIsNotPreparedIsWrong) {
  StartWorkers({"a"});
  v1::PrepareJobRequest request;
  *request.mutable_fence() = FenceOf("a");
  At("a").api().Send<rpc::PrepareJob>(request, [](const auto&) {});
  EXPECT_TRUE(absl::IsFailedPrecondition(StartStep("a", Map(0, 1))));
  EXPECT_THAT(world_.wrong(), ElementsAre(HasSubstr("not prepared")));
}

TEST_F(SimWorkerTest, InputsThatAreNotThereAreWrong) {
  StartWorkers({"a"});
  ASSERT_TRUE(Prepare("a").ok());
  ASSERT_TRUE(StartStep("a", Reduce(1, v1::SECTION_PLACE_OWN_RUN, 5)).ok());
  RunFor(absl::Seconds(1));
  EXPECT_THAT(world_.wrong(), ElementsAre(HasSubstr("started without its inputs")));
}

TEST_F(SimWorkerTest, AnInputBeyondTheEndOfItsFileIsWrong) {
  StartWorkers({"a"});
  ASSERT_TRUE(Prepare("a").ok());
  ASSERT_TRUE(StartStep("a", Map(1, 101 * kSecondOfMap)).ok());
  RunFor(absl::Seconds(1));
  EXPECT_THAT(world_.wrong(), ElementsAre(HasSubstr("started without its inputs")));
}

TEST_F(SimWorkerTest, ARunThatWasDroppedIsNotThereAnyMore) {
  MakeRun({"a"});
  v1::StepOrder next = Map(1, 1);
  next.add_unread_runs("0.1");
  ASSERT_TRUE(StartStep("a", next).ok());
  RunFor(absl::Seconds(1));
  EXPECT_THAT(world_.wrong(), IsEmpty());
  ASSERT_TRUE(StartStep("a", Reduce(2, v1::SECTION_PLACE_OWN_RUN, 5)).ok());
  RunFor(absl::Seconds(1));
  EXPECT_THAT(world_.wrong(), ElementsAre(HasSubstr("0.1.run")));
}

TEST_F(SimWorkerTest, AFullDiskFailsTheStepByName) {
  StartWorkers({"a"});
  ASSERT_TRUE(Prepare("a").ok());
  At("a").faults().disk_full = true;
  ASSERT_TRUE(StartStep("a", Map(0, 1)).ok());
  RunFor(absl::Seconds(1));
  ASSERT_EQ(master_.steps.size(), 1u);
  EXPECT_EQ(master_.steps[0].result().error().code(), job_error::kDiskFull);
  EXPECT_EQ(master_.steps[0].result().error().fault_of(), v1::FAULT_OF_WORKER);
  EXPECT_EQ(master_.steps[0].result().error().worker(), "a");
}

class FailedStepTest : public SimWorkerTest {
 protected:
  /// Worker "a" has failed one step, and does another one.
  void ExpectNextStepIsDone() {
    ASSERT_TRUE(StartStep("a", Map(1, 1)).ok());
    RunFor(absl::Seconds(1));
    ASSERT_EQ(master_.steps.size(), 2u);
    EXPECT_FALSE(master_.steps[1].result().has_error());
    EXPECT_TRUE(Release("a").ok());
    EXPECT_THAT(At("a").HeldJobs(), IsEmpty());
    EXPECT_THAT(world_.wrong(), IsEmpty());
  }
};

TEST_F(FailedStepTest, ACrashFailsThisStepAndTheNextBeginsWithAnotherTask) {
  StartWorkers({"a"});
  ASSERT_TRUE(Prepare("a").ok());
  At("a").faults().task_crashes = true;
  ASSERT_TRUE(StartStep("a", Map(0, 1)).ok());
  RunFor(absl::Seconds(1));
  ASSERT_EQ(master_.steps.size(), 1u);
  EXPECT_EQ(master_.steps[0].result().error().code(), job_error::kTaskCrashed);
  At("a").faults().task_crashes = false;
  ExpectNextStepIsDone();
}

TEST_F(FailedStepTest, ATaskThatIsKilledForMemoryIsItsWorkersFault) {
  StartWorkers({"a"});
  ASSERT_TRUE(Prepare("a").ok());
  At("a").faults().task_is_killed_for_memory = true;
  ASSERT_TRUE(StartStep("a", Map(0, 1)).ok());
  RunFor(absl::Seconds(1));
  ASSERT_EQ(master_.steps.size(), 1u);
  EXPECT_EQ(master_.steps[0].result().error().code(), job_error::kOutOfMemory);
  EXPECT_EQ(master_.steps[0].result().error().fault_of(), v1::FAULT_OF_WORKER);
}

// Half of the map, 8 s in which nothing is seen of it, and 2 s in which it does not die.
TEST_F(FailedStepTest, ATaskThatHangsIsKilledAndNoStepBeginsBeforeItIsGone) {
  StartWorkers({"a"});
  ASSERT_TRUE(Prepare("a").ok());
  At("a").faults().task_hangs = true;
  At("a").faults().task_outlives_kill = absl::Seconds(4);
  ASSERT_TRUE(StartStep("a", Map(0, kSecondOfMap)).ok());
  RunFor(absl::Seconds(10));
  EXPECT_THAT(master_.steps, IsEmpty());
  ASSERT_EQ(master_.heartbeats.back().progress_size(), 1);
  EXPECT_EQ(master_.heartbeats.back().progress(0).input_bytes_done(), kSecondOfMap / 2);
  RunFor(absl::Seconds(1));
  ASSERT_EQ(master_.steps.size(), 1u);
  EXPECT_EQ(master_.steps[0].result().error().code(), job_error::kTaskHung);
  At("a").faults().task_hangs = false;
  EXPECT_TRUE(absl::IsUnavailable(StartStep("a", Map(1, 1)))) << "its process is still there";
  RunFor(absl::Seconds(2));
  ExpectNextStepIsDone();
}

TEST_F(SimWorkerTest, AfterAPowerCutAWorkerTellsOfRunsThatAreWholeAlone) {
  constexpr int kRuns = 40;
  StartWorkers({"a"});
  ASSERT_TRUE(Prepare("a").ok());
  for (int step = 0; step < kRuns; ++step) {
    ASSERT_TRUE(StartStep("a", Map(step, 1000)).ok());
    RunFor(absl::Milliseconds(100));
  }
  ASSERT_EQ(master_.steps.size(), std::size_t{kRuns});
  world_.CutPower("a", /*silent=*/false);
  StartWorkers({"a"});
  ASSERT_EQ(master_.registrations.back().held_size(), 1);
  const v1::HeldJob& held = master_.registrations.back().held(0);
  EXPECT_GT(held.runs_size(), 0);
  EXPECT_LT(held.runs_size(), kRuns / 2) << "of a run and its record, both have to be whole";
  for (const v1::HeldRun& run : held.runs()) {
    const v1::RunInfo& info = run.result().run();
    EXPECT_TRUE(world_.disks().CheckWritten(info.path(), 0, info.bytes()).ok()) << info.run_id();
  }
}

TEST_F(SimWorkerTest, AWorkerThatIsBackWithoutItsFilesTellsOfNone) {
  MakeRun({"a"});
  world_.KillWorker("a");
  world_.LoseFiles("a");
  StartWorkers({"a"});
  ASSERT_EQ(master_.registrations.size(), 2u);
  EXPECT_EQ(master_.registrations.back().held_size(), 0);
}

TEST_F(SimWorkerTest, ALostLeaseEndsTheJobAndRegistersAgain) {
  StartWorkers({"a"});
  ASSERT_TRUE(Prepare("a").ok());
  ASSERT_TRUE(StartStep("a", Map(0, 60 * kSecondOfMap)).ok());
  const std::int64_t before = master_.epochs["a"];
  master_.silent = true;
  RunFor(absl::Seconds(5));
  EXPECT_THAT(At("a").HeldJobs(), ElementsAre("j"));
  RunFor(absl::Seconds(2));
  EXPECT_THAT(At("a").HeldJobs(), IsEmpty());
  master_.silent = false;
  RunFor(absl::Seconds(8));
  EXPECT_GT(master_.epochs["a"], before);
  EXPECT_THAT(world_.trace().worker_epochs, ElementsAre(before, master_.epochs["a"]));
}

TEST_F(SimWorkerTest, TheNextLifeClearsUpAfterOneThatWasKilled) {
  MakeRun({"a"});
  const std::string left = master_.steps[0].result().run().path();
  world_.KillWorker("a");
  EXPECT_TRUE(world_.disks().Stat(left).ok()) << "files outlive a process";
  StartWorkers({"a"});
  EXPECT_FALSE(world_.disks().Stat(left).ok());
  EXPECT_THAT(At("a").StrayDirectories(), IsEmpty());
  EXPECT_TRUE(world_.disks().MakeDirectory("/disks/a/weir-worker-a-0").ok());
  EXPECT_THAT(At("a").StrayDirectories(), ElementsAre("/disks/a/weir-worker-a-0"));
}

TEST_F(SimWorkerTest, ARunIsHandedOverOnOneHostAlone) {
  StartWorkers({"a", "b"}, "host");
  StartWorkers({"c"});
  for (const char* worker : {"a", "b", "c"}) ASSERT_TRUE(Prepare(worker).ok());
  ASSERT_TRUE(StartStep("a", Map(0, 1000)).ok());
  RunFor(absl::Seconds(1));
  v1::TransferGrant grant = Piece(1, "a", 0, 1000);
  grant.set_handover(true);
  grant.set_source_run_path(master_.steps[0].result().run().path());
  ASSERT_TRUE(Grant("b", grant).ok());
  RunFor(absl::Seconds(1));
  EXPECT_EQ(CodeOfEnd(0), "");
  ASSERT_TRUE(StartStep("b", Reduce(2, v1::SECTION_PLACE_HANDED_OVER, 1000)).ok());
  RunFor(absl::Seconds(1));
  EXPECT_THAT(world_.wrong(), IsEmpty());
  ASSERT_TRUE(Grant("c", grant).ok());
  RunFor(absl::Seconds(1));
  EXPECT_EQ(CodeOfEnd(1), job_error::kTransferFailed);
}

TEST_F(SimWorkerTest, WhatWasCancelledWhileAProcessHungDoesNotRun) {
  auto loop = std::make_shared<ProcessLoop>(world_.time());
  std::vector<int> ran;
  env::EventLoop::TimerId second = 0;
  loop->RunAt(loop->Now() + absl::Seconds(1), [&] {
    ran.push_back(1);
    loop->CancelTimer(second);
  });
  second = loop->RunAt(loop->Now() + absl::Seconds(2), [&] { ran.push_back(2); });
  loop->RunAt(loop->Now() + absl::Seconds(2), [&] { ran.push_back(3); });
  loop->Hang();
  RunFor(absl::Seconds(3));
  EXPECT_THAT(ran, IsEmpty());
  loop->GoOn();
  RunFor(absl::Seconds(1));
  EXPECT_THAT(ran, ElementsAre(1, 3));
}

}  // namespace
}  // namespace weir::sim
