// Registration, jobs and their steps, ending; transfers are in worker_daemon_transfers_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "runtime/base/job_errors.h"
#include "tests/unit/worker/late_exits.h"
#include "tests/unit/worker/worker_daemon_fixture.h"

namespace weir::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(WorkerDaemonTest, RunsAJobFromPreparationToRelease) {
  StartRegistered("good");
  EXPECT_EQ(master_.registrations[0].identity().name(), "w1");
  EXPECT_EQ(master_.registrations[0].profile().slots(), 2);
  ASSERT_TRUE(Prepare().ok());
  EXPECT_TRUE(Prepare().ok()) << "twice is no error";
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  EXPECT_TRUE(StartStep(MapStep(3)).ok()) << "twice is no error";
  ASSERT_TRUE(Until([&] { return !master_.step_reports.empty(); }));

  const v1::ReportStepRequest& report = master_.step_reports[0];
  EXPECT_EQ(report.worker_id(), 4);
  EXPECT_EQ(report.fence().attempt(), 1);
  EXPECT_FALSE(report.result().has_error()) << report.result().error().message();
  EXPECT_EQ(report.result().run().run_id(), "3.1");
  EXPECT_EQ(report.result().run().path(), JobFile("runs/3.1.run"));
  EXPECT_GT(report.result().run_s(), 0);
  EXPECT_TRUE(std::filesystem::exists(JobFile("runs/3.1.spec.json")));
  const transfer::JobKey key{"j", 99, 2, 1};
  ASSERT_TRUE(runs_.Find(key, "3.1").ok());

  // Its successor reads what it wrote, and writes a part.
  v1::StepOrder reduce = MapStep(4);
  reduce.set_kind(v1::STEP_KIND_REDUCE);
  reduce.clear_consumers();
  reduce.set_part_path(staging_ + "/part-00000.1");
  v1::StepInput& input = *reduce.add_inputs();
  input.set_run_id("3.1");
  input.set_place(v1::SECTION_PLACE_OWN_RUN);
  input.set_bytes(13);
  ASSERT_TRUE(StartStep(reduce).ok());
  ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 2; }));
  EXPECT_TRUE(std::filesystem::exists(staging_ + "/part-00000.1"));

  const auto released = Release();
  ASSERT_TRUE(released.ok()) << released.status();
  EXPECT_EQ(released->task_output_tail(), "stopped in order\n");
  EXPECT_FALSE(std::filesystem::exists(JobFile("")));
  EXPECT_TRUE(absl::IsNotFound(runs_.Find(key, "3.1").status()));
  EXPECT_THAT(server_.cancelled, ElementsAre("j"));
  EXPECT_EQ(Release()->task_output_tail(), "stopped in order\n") << "the first answer may be lost";
  EXPECT_TRUE(absl::IsAborted(Prepare())) << "late";
}

TEST_F(WorkerDaemonTest, ATaskGetsItsPartOfTheMemory) {
  memory_bytes_ = 1'000'000'000;
  memory_share_ = 0.25;
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  ASSERT_TRUE(Until([&] { return !master_.step_reports.empty(); }));
  std::ifstream spec(JobFile("runs/3.1.spec.json"));
  const std::string text(std::istreambuf_iterator<char>(spec), {});
  EXPECT_THAT(text, testing::HasSubstr("\"memoryBytes\": \"250000000\""));
}

TEST_F(WorkerDaemonTest, RemovesRunsThatNobodyReadsAnyMore) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 1; }));
  v1::StepOrder next = MapStep(4);
  next.set_layer(1);
  ASSERT_TRUE(StartStep(next).ok());
  ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 2; }));
  EXPECT_TRUE(std::filesystem::exists(JobFile("runs/3.1.run")));
  next = MapStep(5);
  next.set_layer(2);
  next.add_unread_runs("3.1");
  ASSERT_TRUE(StartStep(next).ok());
  ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 3; }));
  EXPECT_TRUE(Until([&] { return !std::filesystem::exists(JobFile("runs/3.1.run")); }));
  EXPECT_TRUE(std::filesystem::exists(JobFile("runs/4.1.run")));
  const transfer::JobKey key{"j", 99, 2, 1};
  EXPECT_TRUE(absl::IsNotFound(runs_.Find(key, "3.1").status()));
  EXPECT_TRUE(runs_.Find(key, "4.1").ok());
  EXPECT_TRUE(Release().ok());
}

TEST_F(WorkerDaemonTest, ReportsUntilTheMasterHasHeard) {
  master_.reports_to_lose = 3;
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  ASSERT_TRUE(Until([&] { return !master_.step_reports.empty(); }));
  EXPECT_EQ(master_.step_report_tries, 4);
}

TEST_F(WorkerDaemonTest, ACrashNamesWorkerStepAndLastWords) {
  StartRegistered("segfault");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  const v1::JobError error = AwaitStepError();
  EXPECT_EQ(error.code(), job_error::kTaskCrashed);
  EXPECT_EQ(error.worker(), "w1");
  EXPECT_EQ(error.step(), "map 3");
  EXPECT_EQ(error.stderr_tail(), "about to die\n");
  // The worker stays in the job: the next step has a process of its own.
  ASSERT_TRUE(StartStep(MapStep(4)).ok());
  ASSERT_TRUE(Until([&] { return master_.step_reports.size() == 2; }));
  EXPECT_EQ(master_.step_reports[1].result().step(), 4);
  EXPECT_EQ(master_.step_reports[1].result().error().code(), job_error::kTaskCrashed);
  const auto released = Release();
  ASSERT_TRUE(released.ok()) << released.status();
  EXPECT_EQ(released->task_output_tail(), "about to die\nabout to die\n");
}

TEST_F(WorkerDaemonTest, WhatACrashedTaskHadWrittenOfItsRunIsRemoved) {
  StartRegistered("segfault-in-its-run");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  const v1::JobError error = AwaitStepError();
  EXPECT_THAT(error.message(), HasSubstr("SIGSEGV")) << "it had written";
  EXPECT_TRUE(Until([&] { return !std::filesystem::exists(JobFile("runs/3.1.run")); }));
  EXPECT_TRUE(std::filesystem::exists(JobFile("runs/3.1.spec.json")))
      << "the step can still be run by hand";
  ASSERT_TRUE(Release().ok());
}

TEST_F(WorkerDaemonTest, SoIsWhatItHadPutOnDiskBeside) {
  StartRegistered("segfault");
  ASSERT_TRUE(Prepare().ok());
  const auto spill = [this](const char* name) { return JobFile(absl::StrCat("task/", name)); };
  const std::vector<std::string> its = {spill("spill-3-1-0"), spill("spill-3-1-12")};
  const std::vector<std::string> others = {spill("spill-3-2-0"), spill("spill-3-1-"),
                                           spill("spill-3-1-data")};
  for (const auto* paths : {&its, &others}) {
    for (const std::string& path : *paths) std::ofstream(path) << "x";
  }
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  EXPECT_EQ(AwaitStepError().code(), job_error::kTaskCrashed);
  const auto exists = [](const std::string& path) { return std::filesystem::exists(path); };
  EXPECT_TRUE(Until([&] { return std::none_of(its.begin(), its.end(), exists); }))
      << "no other task of the job has started here";
  EXPECT_TRUE(std::all_of(others.begin(), others.end(), exists));
  ASSERT_TRUE(Release().ok());
}

// A process that begins anew holds nothing of earlier steps, and the one that ended held all.
TEST_F(WorkerDaemonTest, ATaskThatEndedBetweenStepsIsToldOfThoughAnAnswerIsLost) {
  StartRegistered("leave-when-idle");
  ASSERT_TRUE(Prepare().ok());
  const auto collected = [] {
    siginfo_t info{};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD;
  };
  ASSERT_TRUE(Until(collected));
  const absl::Status refused = StartStep(MapStep(3));
  EXPECT_EQ(JobErrorFromStatus(refused).code(), job_error::kTaskCrashed) << refused;
  EXPECT_THAT(JobErrorFromStatus(refused).message(), HasSubstr("between steps"));
  EXPECT_EQ(StartStep(MapStep(3)), refused) << "the answer was lost";
  const absl::Status next = StartStep(MapStep(4));
  EXPECT_TRUE(next.ok()) << next;
}

class LingeringTaskTest : public WorkerDaemonTest {
 protected:
  void TearDown() override {
    late_exits_.Come();
    WorkerDaemonTest::TearDown();
  }
  /// Its task was killed in step 3, and does not die before late_exits_ come.
  void KillATask() {
    fds_ = &late_exits_;
    TaskOptions task;
    task.kill_grace = absl::Milliseconds(200);
    StartRegistered("hang-up", task);
    ASSERT_TRUE(Prepare().ok());
    ASSERT_TRUE(StartStep(MapStep(3)).ok());
    ASSERT_EQ(AwaitStepError().code(), job_error::kTaskCrashed) << "who ordered it waits for ever";
  }

  LateExits late_exits_{loop_};
};

TEST_F(LingeringTaskTest, PutsOffTheNextStepUntilItIsGone) {
  KillATask();
  const absl::Status refused = StartStep(MapStep(4));
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_FALSE(CarriesJobError(refused)) << "the master would not ask again";

  late_exits_.Come();
  absl::Status started = refused;
  for (int i = 0; i < 200 && !started.ok(); ++i) {
    RunUntil(
        loop_, [] { return false; }, absl::Milliseconds(10));
    started = StartStep(MapStep(4));
  }
  EXPECT_TRUE(started.ok()) << started;
  EXPECT_EQ(master_.step_reports.size(), 1u) << "told once";
  EXPECT_TRUE(Release().ok());
}

TEST_F(LingeringTaskTest, IsItsWorkersFaultIfItDoesNotEnd) {
  task_end_patience_ = absl::ZeroDuration();
  KillATask();
  const absl::Status refused = StartStep(MapStep(4));
  ASSERT_TRUE(CarriesJobError(refused)) << refused;
  const v1::JobError error = JobErrorFromStatus(refused);
  EXPECT_EQ(error.code(), job_error::kTaskHung);
  EXPECT_THAT(error.message(), HasSubstr("was killed and does not end"));
  EXPECT_EQ(error.fault_of(), v1::FAULT_OF_WORKER) << "others can run it";
  EXPECT_EQ(error.worker(), "w1");
}

TEST_F(WorkerDaemonTest, AUserErrorKeepsItsNameAndTheTaskLivesOn) {
  StartRegistered("user-error");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  const v1::JobError error = AwaitStepError();
  EXPECT_EQ(error.code(), job_error::kUserError);
  EXPECT_EQ(error.message(), "job threw: no such city");
  EXPECT_EQ(error.worker(), "w1");
  EXPECT_TRUE(StartStep(MapStep(4)).ok());
}

TEST_F(WorkerDaemonTest, ATaskThatDoesNotComeUpFailsThePreparation) {
  TaskOptions task;
  task.start_timeout = absl::Milliseconds(200);
  StartRegistered("never-ready", task);
  const absl::Status status = Prepare();
  const v1::JobError error = JobErrorFromStatus(status);
  EXPECT_EQ(error.code(), job_error::kTaskHung) << status;
  EXPECT_EQ(error.worker(), "w1");
  EXPECT_EQ(Prepare().code(), status.code()) << "again the same";
  EXPECT_TRUE(Release().ok());
}

TEST_F(WorkerDaemonTest, AnOutputThatIsNotSharedIsNamed) {
  StartRegistered("good");
  std::filesystem::remove(staging_ + "/.weir-job-j");
  const v1::JobError error = JobErrorFromStatus(Prepare());
  EXPECT_EQ(error.code(), job_error::kOutputNotShared);
  EXPECT_THAT(error.message(), HasSubstr(staging_));
  EXPECT_TRUE(Release().ok());
}

TEST_F(WorkerDaemonTest, ReleaseEndsAStepUnderWay) {
  TaskOptions task;
  task.kill_grace = absl::Milliseconds(200);
  StartRegistered("stubborn", task);
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  EXPECT_TRUE(Release().ok());
  EXPECT_THAT(master_.step_reports, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(daemon_->directory() + "/jobs/j"));
}

TEST_F(WorkerDaemonTest, RefusesOrdersThatMakeNoSense) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Grant(Piece(1, 900, 200)))) << "before its section";
  EXPECT_TRUE(absl::IsInvalidArgument(Grant(Piece(1, 1400, 101)))) << "beyond its section";
  EXPECT_TRUE(absl::IsInvalidArgument(Grant(Piece(1, 1000, -1))));
  v1::TransferGrant outside = Piece(1, 1000, 1);
  outside.set_run_id("../8.1");
  EXPECT_TRUE(absl::IsInvalidArgument(Grant(outside)));
  v1::StepOrder order = MapStep(1);
  order.set_part_path("/etc/cron.d/part");
  EXPECT_TRUE(absl::IsInvalidArgument(StartStep(order)));
  EXPECT_TRUE(Grant(Piece(1, 1000, 200)).ok()) << "a refused attempt was not used up";
}

TEST_F(WorkerDaemonTest, ALostLeaseEndsAllJobsAndRegistersAgain) {
  TaskOptions task;
  task.kill_grace = absl::Milliseconds(100);
  StartRegistered("stubborn", task);
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  ASSERT_TRUE(Grant(Piece(1, 1000, 200)).ok());
  const v1::Fence old = FenceNow();
  master_.down = true;
  ASSERT_TRUE(Until([&] { return !daemon_->registered(); }));
  EXPECT_TRUE(absl::IsUnavailable(StartStep(MapStep(4))));
  const std::string job = daemon_->directory() + "/jobs/j";
  ASSERT_TRUE(Until([&] { return !std::filesystem::exists(job); }));
  master_.down = false;
  ASSERT_TRUE(Until([&] { return daemon_->registered(); }));
  EXPECT_TRUE(Prepare().ok());
  v1::StartStepRequest stale;
  *stale.mutable_fence() = old;
  EXPECT_TRUE(absl::IsAborted(Order<rpc::StartStep>(stale).status()));
}

TEST_F(WorkerDaemonTest, AMasterThatForgotItIsGivenANewRegistration) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  master_.forgets_worker = true;
  ASSERT_TRUE(Until([&] { return master_.registrations.size() == 2; }));
  const std::string job = daemon_->directory() + "/jobs/j";
  EXPECT_TRUE(Until([&] { return !std::filesystem::exists(job); }));
}

TEST_F(WorkerDaemonTest, HeartbeatsTellWhatItHoldsAndObeyWhatHasEnded) {
  StartRegistered("slow");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  ASSERT_TRUE(Until([&] {
    return !master_.heartbeats.empty() && master_.heartbeats.back().progress_size() == 1 &&
           master_.heartbeats.back().progress(0).input_bytes_done() > 0;
  }));
  const v1::HeartbeatRequest beat = master_.heartbeats.back();
  EXPECT_THAT(beat.held_jobs(), ElementsAre("j"));
  EXPECT_EQ(beat.progress(0).step(), 3);
  EXPECT_GT(beat.free_disk_bytes(), 0);
  master_.ended_jobs = {"j", "unknown"};
  EXPECT_TRUE(Until([&] { return master_.heartbeats.back().held_jobs().empty(); }));
}

TEST_F(WorkerDaemonTest, DrainWaitsForTheLastJob) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  bool drained = false;
  daemon_->Drain(absl::Seconds(30), [&] { drained = true; });
  v1::PrepareJobRequest request;
  *request.mutable_fence() = FenceNow();
  request.mutable_fence()->set_job_id("k");
  EXPECT_TRUE(absl::IsUnavailable(Order<rpc::PrepareJob>(request).status()));
  EXPECT_TRUE(StartStep(MapStep(3)).ok()) << "the job it holds goes on";
  EXPECT_TRUE(Until([&] { return master_.heartbeats.back().draining(); }));
  EXPECT_EQ(master_.heartbeats.back().leaving(), "") << "it is still there";
  EXPECT_FALSE(drained);
  EXPECT_TRUE(Release().ok());
  EXPECT_TRUE(drained);
}

TEST_F(WorkerDaemonTest, DrainDoesNotWaitForEver) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  bool drained = false;
  daemon_->Drain(absl::Milliseconds(50), [&] { drained = true; });
  EXPECT_TRUE(Until([&] { return drained; }));
}

TEST_F(WorkerDaemonTest, StopLeavesNothing) {
  StartRegistered("child");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  ASSERT_TRUE(Grant(Piece(1, 1000, 200)).ok());
  Stop();
  EXPECT_THAT(FilesIn(work_dir_.path()), IsEmpty());
}

TEST_F(WorkerDaemonTest, SurvivesAMasterThatIsNotThereYet) {
  master_.down = true;
  StartDaemon("good");
  ASSERT_TRUE(Until([&] { return master_.registrations.size() >= 3; }));
  EXPECT_TRUE(absl::IsUnavailable(Prepare()));
  master_.down = false;
  EXPECT_TRUE(Until([&] { return daemon_->registered(); }));
}

TEST_F(WorkerDaemonTest, RefusesOptionsThatMakeNoSense) {
  WorkerOptions options;
  options.name = "w1";
  options.work_dir = "relative";
  TaskProcesses tasks({}, loop_, loop_);
  WorkerDaemon daemon(options, WorkerSeams{loop_, pool_, tasks, random_, storage_, master_.api,
                                           runs_, server_, fetcher_});
  std::optional<absl::Status> started;
  daemon.Start([&](absl::Status status) { started = std::move(status); });
  ASSERT_TRUE(started);
  EXPECT_THAT(std::string(started->message()), HasSubstr("\"relative\""));
}

TEST_F(WorkerDaemonTest, ADirectoryThatStaysIsToldOfOnce) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  storage_.sticky = true;
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(absl::IsUnavailable(Release().status()));
  const std::string log = testing::internal::GetCapturedStderr();
  storage_.sticky = false;
  EXPECT_TRUE(Release().ok());
  const std::size_t first = log.find("Job directory not removed");
  ASSERT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find("Job directory not removed", first + 1), std::string::npos) << log;
}

TEST_F(WorkerDaemonTest, ADirectoryThatIsRemovedBetweenJobsIsMadeAgain) {
  StartRegistered("good");
  std::filesystem::remove_all(daemon_->directory());
  EXPECT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  EXPECT_EQ(AwaitStepError().code(), "");
  EXPECT_TRUE(Release().ok());
  // It is locked: a daemon of the same name leaves it alone.
  EXPECT_TRUE(absl::IsUnavailable(storage_.TakeLock(daemon_->directory() + "/lock").status()));
}

TEST_F(WorkerDaemonTest, ACleanerThatLeavesHalfOfADirectory) {
  StartRegistered("good");
  std::filesystem::remove(daemon_->directory() + "/lock");
  EXPECT_TRUE(Prepare().ok());
}

TEST_F(WorkerDaemonTest, ACleanerThatLeavesTheOtherHalf) {
  StartRegistered("good");
  std::filesystem::remove(daemon_->directory() + "/jobs");
  EXPECT_TRUE(Prepare().ok());
}

TEST_F(WorkerDaemonTest, ADirectoryThatIsRemovedEndsTheRunningJobByName) {
  StartRegistered("sleep");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  ASSERT_TRUE(Until([&] { return std::filesystem::exists(JobFile("runs/3.1.spec.json")); }));
  std::filesystem::remove_all(daemon_->directory());
  const v1::JobError error = AwaitStepError();
  EXPECT_EQ(error.code(), job_error::kWorkDirectoryLost);
  EXPECT_EQ(error.worker(), "w1");
  EXPECT_EQ(error.step(), "map 3");
  EXPECT_THAT(error.message(), HasSubstr(daemon_->directory() + "/jobs/j was removed"));
  EXPECT_THAT(error.advice(), HasSubstr("--work-dir"));
  EXPECT_TRUE(Release().ok());
  EXPECT_TRUE(daemon_->registered());
}

TEST_F(WorkerDaemonTest, AStepThatFailsForItsLostFilesSaysSo) {
  // No heartbeat before the step fails by itself.
  master_.heartbeat_ms = 5000;
  master_.lease_ms = 60'000;
  StartRegistered("user-error");
  ASSERT_TRUE(Prepare().ok());
  std::filesystem::remove_all(daemon_->directory() + "/jobs/j");
  ASSERT_TRUE(StartStep(MapStep(3)).ok());
  EXPECT_EQ(AwaitStepError().code(), job_error::kWorkDirectoryLost);
}

TEST_F(WorkerDaemonTest, LeavesWhileItsDirectoryCannotBeMadeAgain) {
  StartRegistered("good");
  const std::string elsewhere = work_dir_.path() + "-elsewhere";
  std::filesystem::rename(work_dir_.path(), elsewhere);
  ASSERT_TRUE(Until([&] { return !daemon_->registered(); }));
  EXPECT_THAT(master_.heartbeats.back().leaving(), HasSubstr(work_dir_.path() + " does not exist"));
  const std::size_t registrations = master_.registrations.size();
  std::filesystem::create_directory(work_dir_.path());
  EXPECT_TRUE(Until([&] { return daemon_->registered(); }));
  EXPECT_EQ(master_.registrations.size(), registrations + 1);
  EXPECT_TRUE(Prepare().ok());
  std::filesystem::remove_all(elsewhere);
}

TEST_F(WorkerDaemonTest, SaysThatItLeaves) {
  StartRegistered("good");
  Stop();
  EXPECT_EQ(master_.heartbeats.back().leaving(), "it was stopped");
}

TEST_F(WorkerDaemonTest, AWorkDirectoryThatDoesNotExistIsNamedAtTheStart) {
  const absl::Status missing = WorkDirectory::Check(storage_, "/no/such/directory");
  EXPECT_THAT(std::string(missing.message()),
              HasSubstr("/no/such/directory does not exist: make it, or choose another"));
  const absl::Status file = WorkDirectory::Check(storage_, "/proc/self/exe");
  EXPECT_THAT(std::string(file.message()), HasSubstr("is no directory"));
  EXPECT_TRUE(WorkDirectory::Check(storage_, work_dir_.path()).ok());
}

}  // namespace
}  // namespace weir::worker
