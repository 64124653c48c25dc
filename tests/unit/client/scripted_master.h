#pragma once

// A master for tests of commands: it remembers what was asked and answers as told.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/client/session.h"
#include "runtime/env/real/asio_event_loop.h"
#include "runtime/rpc/serve.h"

namespace weir::client {

/// Watch sends `statuses` and ends, or, with `hold_stream`, ends by End. What no command under test
/// asks for is answered with kUnimplemented.
struct ScriptedMaster {
  void Handle(rpc::Call<rpc::Submit> call) {
    spec = call.request.spec();
    submit_keys.push_back(spec.idempotency_key());
    if (submits_lost > 0) {
      --submits_lost;
      return call.reply(absl::UnavailableError("socket closed"));
    }
    if (!refusal.ok()) return call.reply(refusal);
    v1::SubmitResponse response;
    response.set_job_id("j-1");
    call.reply(std::move(response));
  }
  std::unique_ptr<rpc::Subscription> Handle(rpc::Call<rpc::Watch> call) {
    if (watches_lost > 0) {
      --watches_lost;
      if (!statuses.empty()) call.on_message(statuses.front());
      call.on_end(absl::UnavailableError("socket closed"));
      if (on_watch_lost) on_watch_lost();
      for (int i = 0; i < interrupt_when_lost; ++i) interrupt();
      return std::make_unique<rpc::Subscription>();
    }
    for (const auto& status : statuses) call.on_message(status);
    watch = std::move(call);
    if (!hold_stream) watch.on_end(absl::OkStatus());
    for (int i = 0; i < interrupt_after_watch; ++i) interrupt();
    return std::make_unique<rpc::Subscription>();
  }
  void End(const v1::JobStatus& status) {
    watch.on_message(status);
    watch.on_end(absl::OkStatus());
  }
  void Handle(rpc::Call<rpc::GetStatus> call) {
    if (!away.ok()) {
      const absl::Status now = away;
      if (away_for > 0 && --away_for == 0) away = absl::OkStatus();
      return call.reply(now);
    }
    if (statuses.empty()) return call.reply(absl::NotFoundError("no such job"));
    call.reply(statuses.back());
  }
  void Handle(rpc::Call<rpc::Cancel> call) {
    ++cancels;
    const absl::Status answer = cancels == 1 ? first_cancel : absl::OkStatus();
    call.Acknowledge(answer);
    if (on_cancel) on_cancel();
  }
  void Handle(rpc::Call<rpc::Calibrate> call) {
    calibrate_requests.push_back(call.request);
    if (!refusal.ok()) return call.reply(refusal);
    if (call.request.cancel()) return call.reply(absl::CancelledError("cancelled by its user"));
    v1::CalibrateResponse response;
    response.set_doing("2 transfers at once");
    if (calibrate_requests.size() > 2) {
      response.set_done(true);
      *response.mutable_network() = measured;
    }
    for (int i = 0; i < interrupt_calibration; ++i) interrupt();
    interrupt_calibration = 0;
    call.reply(std::move(response));
  }
  void Handle(rpc::Call<rpc::ListWorkers> call) { call.reply(workers); }
  void Handle(rpc::Call<rpc::ListJobs> call) { call.reply(jobs); }
  void Handle(rpc::Call<rpc::GetLogs> call) { call.reply(logs); }
  void Handle(rpc::Call<rpc::GetPlan> call) { call.reply(whole_plan); }
  void Handle(rpc::Call<rpc::DryRun> call) { call.reply(whole_plan); }
  template <typename Method>
  void Handle(rpc::Call<Method> call) {
    call.reply(absl::UnimplementedError(Method::kName));
  }
  // Of a plan; with `hold_pieces` it does not end.
  template <typename Method>
  requires(Method::kStreams) std::unique_ptr<rpc::Subscription> Handle(rpc::Call<Method> call) {
    for (const v1::PlanPiece& piece : plan_pieces) call.on_message(piece);
    if (!hold_pieces) call.on_end(pieces_end);
    if (interrupt_pieces) interrupt();
    return std::make_unique<rpc::Subscription>();
  }

  absl::StatusOr<v1::GetPlanResponse> whole_plan = absl::UnimplementedError("GetPlan");
  std::vector<v1::PlanPiece> plan_pieces;
  // By default that of a master from before there were pieces.
  absl::Status pieces_end = absl::UnimplementedError("GetPlanPieces");
  bool hold_pieces = false;
  bool interrupt_pieces = false;
  v1::JobSpec spec;
  std::vector<v1::CalibrateRequest> calibrate_requests;
  v1::MeasuredNetwork measured;
  v1::ListWorkersResponse workers;
  v1::ListJobsResponse jobs;
  v1::GetLogsResponse logs;
  int interrupt_calibration = 0;
  absl::Status refusal;
  absl::Status away;                     // what GetStatus says
  int away_for = 0;                      // so many times; 0: always
  std::vector<std::string> submit_keys;  // of each try
  int submits_lost = 0;                  // first tries that come to nothing
  int watches_lost = 0;                  // first streams that break, after the first status
  std::function<void()> on_watch_lost;
  int interrupt_when_lost = 0;
  std::vector<v1::JobStatus> statuses;
  bool hold_stream = false;
  int cancels = 0;
  absl::Status first_cancel;  // how the first one is answered
  int interrupt_after_watch = 0;
  std::function<void()> on_cancel;
  std::function<void()> interrupt;
  rpc::Call<rpc::Watch> watch;
  const rpc::JobApi api = rpc::ApiOf<rpc::JobService>(*this);
};

class ScriptedSession final : public Session {
 public:
  ScriptedSession(env::AsioEventLoop& loop, ScriptedMaster& master)
      : loop_(loop), master_(master) {}
  const rpc::JobApi& jobs() override { return master_.api; }
  env::EventLoop& loop() override { return loop_; }
  void RunUntil(const std::function<bool()>& done) override { loop_.RunUntil(done); }
  void OnInterrupt(std::function<void()> on_interrupt) override {
    // A signal comes as a task of its own.
    master_.interrupt = [this, on_interrupt = std::move(on_interrupt)] {
      loop_.Post([on_interrupt] { on_interrupt(); });
    };
  }
  void EndWithStdin() override {}
  std::string master_name() const override { return "scripted:1"; }

 private:
  env::AsioEventLoop& loop_;
  ScriptedMaster& master_;
};

}  // namespace weir::client
