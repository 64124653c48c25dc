#pragma once

// Simulated workers under a master made by hand, so that a test can order what no master would.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/sim/world.h"

namespace weir::sim {

/// Registers whoever asks and records what is reported. `silent`: nothing is answered.
struct ScriptedMaster {
  void Handle(rpc::Call<rpc::Register> call) {
    if (silent) return;
    v1::RegisterResponse response;
    response.set_worker_id(++last_epoch);
    response.set_worker_epoch(last_epoch);
    response.set_master_epoch(2);
    response.set_lease_ms(6000);
    response.set_heartbeat_ms(500);
    epochs[call.request.identity().name()] = last_epoch;
    registrations.push_back(std::move(call.request));
    call.reply(std::move(response));
  }
  void Handle(rpc::Call<rpc::Heartbeat> call) {
    if (silent) return;
    heartbeats.push_back(std::move(call.request));
    call.Acknowledge(absl::OkStatus());
  }
  void Handle(rpc::Call<rpc::ReportStep> call) {
    steps.push_back(std::move(call.request));
    call.Acknowledge(absl::OkStatus());
  }
  void Handle(rpc::Call<rpc::ReportTransfer> call) {
    (call.request.report().done() ? ends : nearly_done).push_back(std::move(call.request));
    call.Acknowledge(absl::OkStatus());
  }
  // Jobs made by hand ship no files.
  void Handle(rpc::Call<rpc::FetchArtifact> call) {
    call.reply(absl::NotFoundError("a master made by hand keeps no artifacts"));
  }

  bool silent = false;
  std::int64_t last_epoch = 0;
  std::map<std::string, std::int64_t> epochs;
  std::vector<v1::RegisterRequest> registrations;
  std::vector<v1::HeartbeatRequest> heartbeats;
  std::vector<v1::ReportStepRequest> steps;
  std::vector<v1::ReportTransferRequest> nearly_done;
  std::vector<v1::ReportTransferRequest> ends;
  const rpc::ClusterApi api = rpc::ApiOf<rpc::ClusterService>(*this);
};

class SimWorkerTest : public testing::Test {
 protected:
  // A second of a link, and of a map.
  static constexpr std::int64_t kSecondOfLink = 100'000'000;
  static constexpr std::int64_t kSecondOfMap = 250'000'000;
  static constexpr char kStaging[] = "/staging-j";

  SimWorkerTest() : world_(7, master::MasterOptions(), JobRates(), /*print=*/false) {
    world_.network().SetMasterLoop(loop_);
    world_.network().Attach("master", Endpoint{loop_, &master_.api, nullptr});
    EXPECT_TRUE(world_.storage().WriteSized("/in/data", 100 * kSecondOfMap).ok());
    EXPECT_TRUE(world_.storage().MakeDirectory(kStaging).ok());
    EXPECT_TRUE(world_.storage().WriteSized(absl::StrCat(kStaging, "/.weir-job-j"), 1).ok());
  }

  void StartWorkers(const std::vector<std::string>& names, const std::string& host = "") {
    for (const std::string& name : names) {
      WorkerModel model;
      model.name = name;
      model.handover_domain = host;
      model.map_seconds_per_byte = 1.0 / static_cast<double>(kSecondOfMap);
      model.map_output_ratio = 1;
      model.channel_seconds_per_byte = 1.0 / static_cast<double>(kSecondOfLink);
      world_.StartWorker(model);
    }
    RunFor(absl::Seconds(1));
  }
  void RunFor(absl::Duration duration) {
    const MonoTime end = world_.time().now() + duration;
    bool over = false;
    world_.After(duration, [&over] { over = true; });
    while (!over && world_.time().RunNext()) {
    }
    ASSERT_EQ(world_.time().now(), end);
  }
  SimWorker& At(const std::string& name) { return *world_.FindWorker(name); }

  v1::Fence FenceOf(const std::string& worker, int attempt = 1) {
    v1::Fence fence;
    fence.set_job_id("j");
    fence.set_master_epoch(2);
    fence.set_plan_epoch(1);
    fence.set_worker_epoch(master_.epochs[worker]);
    fence.set_attempt(attempt);
    return fence;
  }
  // Calls a worker and waits for its answer.
  template <typename Method>
  absl::StatusOr<typename Method::Response> Order(const std::string& worker,
                                                  typename Method::Request request) {
    absl::StatusOr<typename Method::Response> answer = absl::UnknownError("no answer");
    At(worker).api().Send<Method>(std::move(request), [&answer](auto a) { answer = std::move(a); });
    for (int ms = 0; ms < 5000 && absl::IsUnknown(answer.status()); ++ms) {
      RunFor(absl::Milliseconds(1));
    }
    return answer;
  }
  absl::Status Prepare(const std::string& worker) {
    v1::PrepareJobRequest request;
    *request.mutable_fence() = FenceOf(worker);
    request.set_job_token(99);
    request.set_staging_dir(kStaging);
    return Order<rpc::PrepareJob>(worker, std::move(request)).status();
  }
  absl::Status Release(const std::string& worker) {
    v1::ReleaseJobRequest request;
    *request.mutable_fence() = FenceOf(worker);
    return Order<rpc::ReleaseJob>(worker, std::move(request)).status();
  }
  absl::Status StartStep(const std::string& worker, const v1::StepOrder& order) {
    v1::StartStepRequest request;
    *request.mutable_fence() = FenceOf(worker);
    *request.mutable_order() = order;
    return Order<rpc::StartStep>(worker, std::move(request)).status();
  }
  absl::Status Grant(const std::string& worker, const v1::TransferGrant& order) {
    v1::GrantTransferRequest request;
    *request.mutable_fence() = FenceOf(worker);
    *request.mutable_order() = order;
    return Order<rpc::GrantTransfer>(worker, std::move(request)).status();
  }
  absl::Status SetRate(const std::string& worker, int transfer, int number,
                       std::int64_t bytes_per_s) {
    v1::SetRatesRequest request;
    *request.mutable_fence() = FenceOf(worker, 0);
    v1::TransferRate& rate = *request.add_rates();
    rate.set_transfer(transfer);
    rate.set_attempt(1);
    rate.set_number(number);
    rate.set_bytes_per_s(bytes_per_s);
    return Order<rpc::SetRates>(worker, std::move(request)).status();
  }

  static v1::StepOrder Map(int step, std::int64_t bytes) {
    v1::StepOrder order;
    order.set_step(step);
    order.set_kind(v1::STEP_KIND_MAP);
    order.set_label("map " + std::to_string(step));
    v1::InputRange& range = *order.add_ranges();
    range.set_path("/in/data");
    range.set_end(bytes);
    v1::StepConsumer& consumer = *order.add_consumers();
    consumer.set_step(100);
    consumer.mutable_keys()->set_end(1);
    return order;
  }
  static v1::StepOrder Reduce(int step, v1::SectionPlace place, std::int64_t bytes) {
    v1::StepOrder order;
    order.set_step(step);
    order.set_kind(v1::STEP_KIND_REDUCE);
    order.set_part_path("part-0.1");
    v1::StepInput& input = *order.add_inputs();
    input.set_run_id("0.1");
    input.set_place(place);
    input.set_bytes(bytes);
    return order;
  }
  // A piece of run 0.1, which is one section of two seconds of link.
  static v1::TransferGrant Piece(int transfer, const std::string& from, std::int64_t offset,
                                 std::int64_t bytes) {
    v1::TransferGrant order;
    order.set_transfer(transfer);
    order.set_source_endpoint(from + ":7002");
    order.set_source_worker(from);
    order.set_run_id("0.1");
    order.set_offset(offset);
    order.set_bytes(bytes);
    order.set_section_bytes(2 * kSecondOfLink);
    order.set_job_token(99);
    return order;
  }
  // Prepares the job everywhere, and lets the first make run 0.1.
  void MakeRun(const std::vector<std::string>& workers) {
    StartWorkers(workers);
    for (const std::string& worker : workers) ASSERT_TRUE(Prepare(worker).ok());
    ASSERT_TRUE(StartStep(workers[0], Map(0, 2 * kSecondOfLink)).ok());
    RunFor(absl::Seconds(2));
    ASSERT_EQ(master_.steps.size(), 1u);
    ASSERT_FALSE(master_.steps[0].result().has_error());
  }
  std::string CodeOfEnd(std::size_t index) const {
    return index < master_.ends.size() ? master_.ends[index].report().error().code() : "none";
  }

  World world_;
  std::shared_ptr<ProcessLoop> loop_ = std::make_shared<ProcessLoop>(world_.time());
  ScriptedMaster master_;
};

}  // namespace weir::sim
