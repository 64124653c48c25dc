#pragma once

// The daemon whole, with real task processes and files, between a master and a data plane made by
// hand. Requires WEIR_MISBEHAVING_TASK, the program of its tasks.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/worker/supervise/task_processes.h"
#include "runtime/worker/worker_daemon.h"
#include "tests/unit/worker/fake_peers.h"
#include "tests/unit/worker/manual_loop.h"
#include "tests/unit/worker/real_machine.h"

namespace weir::worker {

/// Files that stay where they are for a while.
class StickyStorage final : public env::PosixStorage {
 public:
  absl::Status RemoveAll(const std::string& path) override {
    if (!sticky) return PosixStorage::RemoveAll(path);
    stuck.push_back(path);
    return absl::UnavailableError("remove " + path + ": busy");
  }
  bool sticky = false;
  std::vector<std::string> stuck;  // what was to be removed
};

/// One worker daemon; whatever a test did with it, its work directory is empty in the end.
class WorkerDaemonTest : public testing::Test {
 protected:
  void TearDown() override {
    if (daemon_) Stop();
    EXPECT_THAT(FilesIn(work_dir_.path()), testing::IsEmpty());
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
    options.memory_bytes = memory_bytes_;
    options.spill_above_bytes = spill_above_bytes_;
    options.held_bytes_max = held_bytes_max_;
    options.task_end_patience = task_end_patience_;
    options.runs_outlive = runs_outlive_;
    options.workers_on_machine = workers_on_machine_;
    options.control_endpoint = "127.0.0.1:7100";
    options.data_endpoint = server_.endpoint();
    tasks_ = std::make_unique<TaskProcesses>(std::move(task), loop_, *fds_);
    daemon_ = std::make_unique<WorkerDaemon>(
        options, WorkerSeams{loop_, *disk_pool_, *tasks_, random_, *disk_, master_.api, runs_,
                             server_, fetcher_, nullptr, look_pool_});
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

  template <typename Method>
  absl::StatusOr<typename Method::Response> Order(const typename Method::Request& request) {
    using Answer = absl::StatusOr<typename Method::Response>;
    std::optional<Answer> answer;
    daemon_->api().Send<Method>(request, [&answer](Answer a) {
      EXPECT_FALSE(answer) << "answered twice";
      answer = std::move(a);
    });
    EXPECT_TRUE(Until([&] { return answer.has_value(); }));
    return answer ? *std::move(answer) : Answer(absl::InternalError("silence"));
  }

  v1::Fence FenceNow(int attempt = 1) const {
    v1::Fence fence;
    fence.set_job_id("j");
    fence.set_master_epoch(2);
    fence.set_plan_epoch(plan_epoch_);
    fence.set_worker_epoch(master_.worker_epoch);
    fence.set_attempt(attempt);
    return fence;
  }
  absl::Status Prepare() {
    v1::PrepareJobRequest request;
    *request.mutable_fence() = FenceNow();
    request.mutable_spec()->set_job("wordcount");
    if (!is_sample_) request.set_staging_dir(staging_);
    request.set_job_token(99);
    request.set_memory_share(memory_share_);
    request.set_input_bytes(input_bytes_);
    return Order<rpc::PrepareJob>(request).status();
  }
  absl::Status StartStep(v1::StepOrder order) {
    v1::StartStepRequest request;
    *request.mutable_fence() = FenceNow();
    *request.mutable_order() = std::move(order);
    return Order<rpc::StartStep>(request).status();
  }
  absl::Status Grant(v1::TransferGrant order) {
    v1::GrantTransferRequest request;
    *request.mutable_fence() = FenceNow();
    *request.mutable_order() = std::move(order);
    return Order<rpc::GrantTransfer>(request).status();
  }
  absl::Status Cancel(int transfer) {
    v1::CancelTransferRequest request;
    *request.mutable_fence() = FenceNow();
    request.set_transfer(transfer);
    return Order<rpc::CancelTransfer>(request).status();
  }
  absl::StatusOr<v1::ReleaseJobResponse> Release() {
    v1::ReleaseJobRequest request;
    *request.mutable_fence() = FenceNow();
    return Order<rpc::ReleaseJob>(request);
  }
  static v1::StepOrder MapStep(int step) {
    v1::StepOrder order;
    order.set_step(step);
    order.set_kind(v1::STEP_KIND_MAP);
    order.set_label(absl::StrCat("map ", step));
    order.set_index_in_layer(step);
    v1::StepConsumer& consumer = *order.add_consumers();
    consumer.set_step(100);
    consumer.mutable_keys()->set_end(1);
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

  std::int64_t plan_epoch_ = 1;  // of the orders from now on
  ScratchDirectory work_dir_;
  ScratchDirectory output_;
  const std::string staging_ = output_.path() + "/staging";
  env::AsioEventLoop loop_;
  env::FdWatcher* fds_ = &loop_;  // of its tasks
  InlinePool pool_;
  FixedRandom random_;
  StickyStorage storage_;
  env::WorkPool* disk_pool_ = &pool_;  // of the daemon
  env::WorkPool* look_pool_ = nullptr;
  env::Storage* disk_ = &storage_;
  FakeMaster master_;
  transfer::PublishedRuns runs_;
  FakeDataServer server_;
  FakeFetcher fetcher_{loop_};
  std::int64_t memory_bytes_ = 0;
  std::int64_t spill_above_bytes_ = 0;
  std::size_t held_bytes_max_ = kHeldBytesMax;
  absl::Duration task_end_patience_ = kTaskEndPatience;
  bool runs_outlive_ = true;
  int workers_on_machine_ = 0;
  bool is_sample_ = false;  // the job of Prepare
  double memory_share_ = 0;
  std::int64_t input_bytes_ = 0;
  std::unique_ptr<TaskProcesses> tasks_;
  std::unique_ptr<WorkerDaemon> daemon_;
};

}  // namespace weir::worker
