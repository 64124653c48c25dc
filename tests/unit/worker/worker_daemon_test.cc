// The daemon whole, with real task processes and files, between a master and a data plane made by
// hand.

#include "runtime/worker/worker_daemon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "tests/unit/worker/fake_peers.h"
#include "tests/unit/worker/manual_loop.h"
#include "tests/unit/worker/real_machine.h"

namespace weir::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WorkerDaemonTest : public testing::Test {
 protected:
  void TearDown() override {
    if (daemon_) Stop();
    EXPECT_THAT(FilesIn(work_dir_.path()), IsEmpty());
  }

  void StartDaemon(const std::string& task_mode, TaskOptions task = {}) {
    std::filesystem::create_directory(staging_);
    std::ofstream(staging_ + "/.weir-job-j") << "";
    task.program = WEIR_MISBEHAVING_TASK;
    task.arguments = {"misbehaving_task", task_mode};
    WorkerOptions options;
    options.name = "w1";
    options.work_dir = work_dir_.path();
    options.slots = 2;
    options.control_endpoint = "127.0.0.1:7100";
    options.data_endpoint = server_.endpoint();
    options.task = std::move(task);
    daemon_ = std::make_unique<WorkerDaemon>(
        options,
        WorkerSeams{loop_, pool_, loop_, random_, storage_, master_, runs_, server_, fetcher_});
    std::optional<absl::Status> started;
    daemon_->Start([&](absl::Status status) { started = std::move(status); });
    ASSERT_TRUE(Until([&] { return started.has_value(); }));
    ASSERT_TRUE(started->ok()) << *started;
  }
  void StartRegistered(const std::string& task_mode, TaskOptions task = {}) {
    StartDaemon(task_mode, std::move(task));
    ASSERT_TRUE(Until([&] { return daemon_->registered(); }));
  }
  void Stop() {
    bool stopped = false;
    daemon_->Stop([&] { stopped = true; });
    EXPECT_TRUE(Until([&] { return stopped; }));
    daemon_.reset();
  }

  bool Until(const std::function<bool()>& done) { return RunUntil(loop_, done, absl::Seconds(8)); }

  template <typename Response>
  absl::StatusOr<Response> Await(std::function<void(rpc::Reply<Response>)> call) {
    std::optional<absl::StatusOr<Response>> answer;
    call([&answer](absl::StatusOr<Response> a) {
      EXPECT_FALSE(answer) << "answered twice";
      answer = std::move(a);
    });
    EXPECT_TRUE(Until([&] { return answer.has_value(); }));
    return answer ? *std::move(answer) : absl::StatusOr<Response>(absl::InternalError("silence"));
  }

  v1::Fence FenceNow(int attempt = 1) const {
    v1::Fence fence;
    fence.set_job_id("j");
    fence.set_master_epoch(2);
    fence.set_plan_epoch(1);
    fence.set_worker_epoch(master_.worker_epoch);
    fence.set_attempt(attempt);
    return fence;
  }
  absl::Status Prepare() {
    v1::PrepareJobRequest request;
    *request.mutable_fence() = FenceNow();
    request.mutable_spec()->set_job("wordcount");
    request.set_staging_dir(staging_);
    request.set_job_token(99);
    return Await<v1::PrepareJobResponse>([&](auto reply) {
             daemon_->PrepareJob(request, absl::Seconds(5), std::move(reply));
           })
        .status();
  }
  absl::Status StartStep(v1::StepOrder order) {
    v1::StartStepRequest request;
    *request.mutable_fence() = FenceNow();
    *request.mutable_order() = std::move(order);
    return Await<v1::StartStepResponse>(
               [&](auto reply) { daemon_->StartStep(request, absl::Seconds(5), std::move(reply)); })
        .status();
  }
  absl::Status Grant(v1::TransferGrant order) {
    v1::GrantTransferRequest request;
    *request.mutable_fence() = FenceNow();
    *request.mutable_order() = std::move(order);
    return Await<v1::GrantTransferResponse>([&](auto reply) {
             daemon_->GrantTransfer(request, absl::Seconds(5), std::move(reply));
           })
        .status();
  }
  absl::StatusOr<v1::ReleaseJobResponse> Release() {
    v1::ReleaseJobRequest request;
    *request.mutable_fence() = FenceNow();
    return Await<v1::ReleaseJobResponse>(
        [&](auto reply) { daemon_->ReleaseJob(request, absl::Seconds(5), std::move(reply)); });
  }
  static v1::StepOrder MapStep(int step) {
    v1::StepOrder order;
    order.set_step(step);
    order.set_kind(v1::STEP_ORDER_KIND_MAP);
    order.set_index_in_layer(step);
    return order;
  }
  static v1::TransferGrant Piece(int transfer, std::int64_t offset, std::int64_t bytes) {
    v1::TransferGrant order;
    order.set_transfer(transfer);
    order.set_source_endpoint("10.0.0.2:7200");
    order.set_source_worker("w2");
    order.set_run_id("8.1");
    order.set_offset(offset);
    order.set_bytes(bytes);
    order.set_section_offset(1000);
    order.set_section_bytes(500);
    order.set_look_ahead_bytes(16);
    order.set_grant_ahead_bytes(48);
    order.set_job_token(99);
    return order;
  }
  // The error of the only step report there will be.
  v1::JobError AwaitStepError() {
    EXPECT_TRUE(Until([&] { return !master_.step_reports.empty(); }));
    if (master_.step_reports.empty()) return {};
    return master_.step_reports[0].result().error();
  }

  static std::vector<std::string> FilesIn(const std::string& directory) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
      found.push_back(entry.path());
    }
    return found;
  }
  std::string JobFile(const std::string& name) const {
    return daemon_->directory() + "/jobs/j/" + name;
  }

  ScratchDirectory work_dir_;
  ScratchDirectory output_;
  const std::string staging_ = output_.path() + "/staging";
  env::AsioEventLoop loop_;
  InlinePool pool_;
  FixedRandom random_;
  env::PosixStorage storage_;
  FakeMaster master_;
  transfer::PublishedRuns runs_;
  FakeDataServer server_;
  FakeFetcher fetcher_{loop_};
  std::unique_ptr<WorkerDaemon> daemon_;
};

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
  reduce.set_kind(v1::STEP_ORDER_KIND_REDUCE);
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
  next.set_keep_from_layer(1);
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
  const absl::Status next = StartStep(MapStep(4));
  EXPECT_EQ(JobErrorFromStatus(next).code(), job_error::kTaskCrashed);
  EXPECT_TRUE(Release().ok());
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

TEST_F(WorkerDaemonTest, FetchesPiecesOfOneSectionIntoOneFile) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  ASSERT_TRUE(Grant(Piece(1, 1000, 200)).ok());
  EXPECT_TRUE(Grant(Piece(1, 1000, 200)).ok()) << "twice is no error";
  ASSERT_TRUE(Grant(Piece(2, 1200, 300)).ok());
  ASSERT_EQ(fetcher_.started.size(), 1u) << "one receive at a time";
  EXPECT_EQ(fetcher_.started[0].order.peer_name, "w2");
  EXPECT_EQ(fetcher_.started[0].order.key.token, 99u);
  EXPECT_EQ(fetcher_.started[0].order.destination_path, JobFile("received/8.1.1000"));
  EXPECT_EQ(fetcher_.started[0].order.destination_offset, 0);

  fetcher_.started[0].nearly_done(48);
  ASSERT_EQ(master_.transfer_reports.size(), 1u);
  EXPECT_EQ(master_.transfer_reports[0].report().bytes_left(), 48);
  EXPECT_EQ(fetcher_.started.size(), 1u) << "the line is not free yet";
  fetcher_.started[0].nearly_done(16);
  ASSERT_EQ(fetcher_.started.size(), 2u) << "the next may begin";
  EXPECT_EQ(fetcher_.started[1].order.destination_path, JobFile("received/8.1.1000"));
  EXPECT_EQ(fetcher_.started[1].order.destination_offset, 200);
  std::exchange(fetcher_.started[0].done, nullptr)(transfer::FetchResult{200, 0.5});
  std::exchange(fetcher_.started[1].done, nullptr)(transfer::FetchResult{300, 0.5});

  ASSERT_EQ(master_.transfer_reports.size(), 3u);
  EXPECT_TRUE(master_.transfer_reports[0].report().nearly_done());
  EXPECT_TRUE(master_.transfer_reports[1].report().done());
  EXPECT_EQ(master_.transfer_reports[1].report().bytes(), 200);
  EXPECT_EQ(master_.transfer_reports[2].report().transfer(), 2);
}

TEST_F(WorkerDaemonTest, FailedTransfersNameBothEndsAndWhatToDo) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  const std::pair<absl::Status, std::string_view> failures[] = {
      {absl::UnavailableError("connection refused"), job_error::kWorkerUnreachable},
      {absl::DeadlineExceededError("no byte for 6 s"), job_error::kWorkerUnreachable},
      {absl::DataLossError("checksum"), job_error::kDataLoss},
      {absl::NotFoundError("no such run"), job_error::kTransferFailed},
      {ErrnoStatus(ENOSPC, "write received/8.1.1000"), job_error::kDiskFull}};
  int transfer = 0;
  for (const auto& [status, code] : failures) {
    ASSERT_TRUE(Grant(Piece(++transfer, 1000, 200)).ok());
    std::exchange(fetcher_.started.back().done, nullptr)(status);
    const v1::JobError& error = master_.transfer_reports.back().report().error();
    EXPECT_EQ(error.code(), code);
    EXPECT_FALSE(error.advice().empty());
    if (code == job_error::kDiskFull) {
      EXPECT_EQ(error.worker(), "w1");
      EXPECT_THAT(error.advice(), HasSubstr(work_dir_.path()));
    } else {
      EXPECT_THAT(error.message(), testing::AllOf(HasSubstr("w1"), HasSubstr("w2")));
    }
    if (code == job_error::kWorkerUnreachable) {
      EXPECT_EQ(error.worker(), "w2");
      EXPECT_THAT(error.advice(), HasSubstr("10.0.0.2:7200"));
    }
  }
}

TEST_F(WorkerDaemonTest, HandsRunsOverByLink) {
  StartRegistered("good");
  ASSERT_TRUE(Prepare().ok());
  const std::string source = output_.path() + "/runs";
  std::filesystem::create_directory(source);
  std::ofstream(source + "/8.1.run") << "bytes";
  v1::TransferGrant order = Piece(1, 1000, 200);
  order.set_handover(true);
  order.set_source_run_path(source + "/8.1.run");
  ASSERT_TRUE(Grant(order).ok());
  ASSERT_TRUE(Until([&] { return !master_.transfer_reports.empty(); }));
  EXPECT_FALSE(master_.transfer_reports[0].report().has_error());
  EXPECT_TRUE(std::filesystem::equivalent(source + "/8.1.run", JobFile("received/8.1.run")));

  order.set_transfer(2);
  order.set_source_run_path("/etc/passwd");
  EXPECT_TRUE(absl::IsInvalidArgument(Grant(order)));
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
  EXPECT_TRUE(absl::IsAborted(Await<v1::StartStepResponse>([&](auto reply) {
                                daemon_->StartStep(stale, absl::Seconds(1), std::move(reply));
                              }).status()));
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
  EXPECT_TRUE(absl::IsUnavailable(Await<v1::PrepareJobResponse>([&](auto reply) {
                                    daemon_->PrepareJob(request, absl::Seconds(1),
                                                        std::move(reply));
                                  }).status()));
  EXPECT_TRUE(StartStep(MapStep(3)).ok()) << "the job it holds goes on";
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
  WorkerDaemon daemon(options, WorkerSeams{loop_, pool_, loop_, random_, storage_, master_, runs_,
                                           server_, fetcher_});
  std::optional<absl::Status> started;
  daemon.Start([&](absl::Status status) { started = std::move(status); });
  ASSERT_TRUE(started);
  EXPECT_THAT(std::string(started->message()), HasSubstr("\"relative\""));
}

}  // namespace
}  // namespace weir::worker
