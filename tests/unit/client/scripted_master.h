#pragma once

// A master for tests of commands: it remembers what was asked and answers as told.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/client/session.h"
#include "runtime/env/real/asio_event_loop.h"

namespace weir::client {

/// Watch sends `statuses` and ends, or, with `hold_stream`, ends by End.
class ScriptedMaster final : public rpc::JobApi {
 public:
  void Submit(v1::SubmitRequest request, absl::Duration,
              rpc::Reply<v1::SubmitResponse> reply) override {
    spec = request.spec();
    if (!refusal.ok()) return reply(refusal);
    v1::SubmitResponse response;
    response.set_job_id("j-1");
    reply(std::move(response));
  }
  std::unique_ptr<rpc::Subscription> Watch(v1::WatchRequest,
                                           absl::AnyInvocable<void(v1::JobStatus)> on_status,
                                           absl::AnyInvocable<void(absl::Status)> on_end) override {
    for (const auto& status : statuses) on_status(status);
    on_status_ = std::move(on_status);
    on_end_ = std::move(on_end);
    if (!hold_stream) on_end_(absl::OkStatus());
    for (int i = 0; i < interrupt_after_watch; ++i) interrupt();
    return std::make_unique<rpc::Subscription>();
  }
  void End(const v1::JobStatus& status) {
    on_status_(status);
    on_end_(absl::OkStatus());
  }
  void GetStatus(v1::GetStatusRequest, absl::Duration, rpc::Reply<v1::JobStatus> reply) override {
    reply(statuses.back());
  }
  void ListJobs(v1::ListJobsRequest, absl::Duration,
                rpc::Reply<v1::ListJobsResponse> reply) override {
    reply(v1::ListJobsResponse());
  }
  void Cancel(v1::CancelRequest, absl::Duration, rpc::Reply<v1::CancelResponse> reply) override {
    ++cancels;
    reply(v1::CancelResponse());
    if (on_cancel) on_cancel();
  }
  void GetPlan(v1::GetPlanRequest, absl::Duration, rpc::Reply<v1::GetPlanResponse> reply) override {
    reply(absl::NotFoundError("no plan"));
  }
  void DryRun(v1::DryRunRequest, absl::Duration, rpc::Reply<v1::GetPlanResponse> reply) override {
    reply(absl::NotFoundError("no plan"));
  }
  void ListWorkers(v1::ListWorkersRequest, absl::Duration,
                   rpc::Reply<v1::ListWorkersResponse> reply) override {
    reply(v1::ListWorkersResponse());
  }
  void GetLogs(v1::GetLogsRequest, absl::Duration, rpc::Reply<v1::GetLogsResponse> reply) override {
    reply(v1::GetLogsResponse());
  }
  void Calibrate(v1::CalibrateRequest request, absl::Duration,
                 rpc::Reply<v1::CalibrateResponse> reply) override {
    calibrate_requests.push_back(request);
    if (!refusal.ok()) return reply(refusal);
    if (request.cancel()) return reply(absl::CancelledError("cancelled by its user"));
    v1::CalibrateResponse response;
    response.set_doing("2 transfers at once");
    if (calibrate_requests.size() > 2) {
      response.set_done(true);
      *response.mutable_network() = measured;
    }
    for (int i = 0; i < interrupt_calibration; ++i) interrupt();
    interrupt_calibration = 0;
    reply(std::move(response));
  }

  v1::JobSpec spec;
  std::vector<v1::CalibrateRequest> calibrate_requests;
  v1::MeasuredNetwork measured;
  int interrupt_calibration = 0;
  absl::Status refusal;
  std::vector<v1::JobStatus> statuses;
  bool hold_stream = false;
  int cancels = 0;
  int interrupt_after_watch = 0;
  std::function<void()> on_cancel;
  std::function<void()> interrupt;

 private:
  absl::AnyInvocable<void(v1::JobStatus)> on_status_;
  absl::AnyInvocable<void(absl::Status)> on_end_;
};

class ScriptedSession final : public Session {
 public:
  ScriptedSession(env::AsioEventLoop& loop, ScriptedMaster& master)
      : loop_(loop), master_(master) {}
  rpc::JobApi& jobs() override { return master_; }
  env::EventLoop& loop() override { return loop_; }
  void RunUntil(const std::function<bool()>& done) override { loop_.RunUntil(done); }
  void OnInterrupt(std::function<void()> on_interrupt) override {
    // A signal comes as a task of its own.
    master_.interrupt = [this, on_interrupt = std::move(on_interrupt)] {
      loop_.Post([on_interrupt] { on_interrupt(); });
    };
  }
  std::string master_name() const override { return "scripted:1"; }

 private:
  env::AsioEventLoop& loop_;
  ScriptedMaster& master_;
};

}  // namespace weir::client
