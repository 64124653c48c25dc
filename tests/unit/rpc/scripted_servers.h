#pragma once

// Servers for the tests of carriers: they record what arrives and answer as told.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/rpc/api.h"
#include "runtime/rpc/plan_pieces.h"

namespace weir::rpc {

/// An Api that is `server` itself: calls come as they were sent, sound or not.
template <typename Service, typename Server>
Api<Service> Unchecked(Server& server) {
  return Api<Service>(std::shared_ptr<Server>(std::shared_ptr<void>(), &server));
}

/// Answers Submit at once unless `silent`; Watch streams `watched`, then ends unless `endless`.
struct ScriptedJobs {
  void Carry(Call<Submit> call) {
    ++submits;
    if (before_answer) before_answer();
    if (silent) {
      kept.push_back(std::move(call.reply));
      return;
    }
    if (!refusal.ok()) return call.reply(refusal);
    v1::SubmitResponse response;
    response.set_job_id("job-of-" + call.request.spec().job());
    call.reply(std::move(response));
  }
  std::unique_ptr<Subscription> Carry(Call<Watch> call) {
    for (int i = 1; i <= watched; ++i) {
      v1::JobStatus status;
      status.set_job_id(call.request.job_id());
      status.set_sequence(i);
      call.on_message(std::move(status));
    }
    if (!endless) {
      call.on_end(refusal);
    } else {
      ends.push_back(std::move(call.on_end));
    }
    ++subscriptions;
    return std::make_unique<Counted>(subscriptions);
  }
  void Carry(Call<GetLogs> call) {
    v1::GetLogsResponse response;
    response.add_logs()->set_output_tail(std::string(log_bytes, 'x'));
    call.reply(std::move(response));
  }
  void Carry(Call<GetPlan> call) { call.reply(plan); }
  // Of a plan.
  template <typename Method>
  requires(Method::kStreams) std::unique_ptr<Subscription> Carry(Call<Method> call) {
    const auto pieces = CutPlan(plan);
    if (pieces.ok()) {
      for (const v1::PlanPiece& piece : *pieces) call.on_message(piece);
    }
    call.on_end(pieces.status());
    return std::make_unique<Subscription>();
  }
  template <typename Method>
  void Carry(Call<Method> call) {
    call.Acknowledge(absl::OkStatus());
  }

  struct Counted final : Subscription {
    explicit Counted(int& open) : open_(open) {}
    ~Counted() override { --open_; }
    int& open_;
  };

  int submits = 0;
  bool silent = false;
  bool endless = false;
  int watched = 0;
  std::size_t log_bytes = 0;
  v1::GetPlanResponse plan;
  int subscriptions = 0;
  absl::Status refusal;
  std::function<void()> before_answer;
  std::vector<Reply<v1::SubmitResponse>> kept;
  std::vector<absl::AnyInvocable<void(absl::Status)>> ends;
  const JobApi api = Unchecked<JobService>(*this);
};

/// Takes every method of its service, says which one it was, and refuses it; a stream gives one
/// message first.
template <typename Service>
struct RecordingServer {
  template <typename Method>
  typename Call<Method>::Taken Carry(Call<Method> call) {
    taken.push_back(Method::kName);
    const absl::Status refusal = absl::AbortedError(Method::kName);
    if constexpr (Method::kStreams) {
      call.on_message({});
      call.on_end(refusal);
      return std::make_unique<Subscription>();
    } else {
      call.reply(refusal);
    }
  }

  std::vector<std::string> taken;
  const Api<Service> api = Unchecked<Service>(*this);
};

}  // namespace weir::rpc
