#pragma once

// Implementations of the surfaces for the tests of their carriers: they record what arrives and
// answer as told.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/rpc/api.h"

namespace weir::rpc {

/// Answers at once unless `silent`; Watch streams `watched`, then ends unless `endless`.
class ScriptedJobApi final : public JobApi {
 public:
  void Submit(v1::SubmitRequest request, absl::Duration, Reply<v1::SubmitResponse> reply) override {
    ++submits;
    if (before_answer) before_answer();
    if (silent) {
      kept.push_back(std::move(reply));
      return;
    }
    if (!refusal.ok()) return reply(refusal);
    v1::SubmitResponse response;
    response.set_job_id("job-of-" + request.spec().job());
    reply(std::move(response));
  }
  std::unique_ptr<Subscription> Watch(v1::WatchRequest request,
                                      absl::AnyInvocable<void(v1::JobStatus)> on_status,
                                      absl::AnyInvocable<void(absl::Status)> on_end) override {
    for (int i = 1; i <= watched; ++i) {
      v1::JobStatus status;
      status.set_job_id(request.job_id());
      status.set_sequence(i);
      on_status(std::move(status));
    }
    if (!endless) {
      on_end(refusal);
    } else {
      ends.push_back(std::move(on_end));
    }
    ++subscriptions;
    return std::make_unique<Counted>(subscriptions);
  }
  void GetStatus(v1::GetStatusRequest request, absl::Duration,
                 Reply<v1::JobStatus> reply) override {
    v1::JobStatus status;
    status.set_job_id(request.job_id());
    reply(std::move(status));
  }
  void ListJobs(v1::ListJobsRequest, absl::Duration, Reply<v1::ListJobsResponse> reply) override {
    reply(v1::ListJobsResponse());
  }
  void Cancel(v1::CancelRequest, absl::Duration, Reply<v1::CancelResponse> reply) override {
    reply(v1::CancelResponse());
  }
  void GetPlan(v1::GetPlanRequest, absl::Duration, Reply<v1::GetPlanResponse> reply) override {
    reply(v1::GetPlanResponse());
  }
  void DryRun(v1::DryRunRequest, absl::Duration, Reply<v1::GetPlanResponse> reply) override {
    reply(v1::GetPlanResponse());
  }
  void ListWorkers(v1::ListWorkersRequest, absl::Duration,
                   Reply<v1::ListWorkersResponse> reply) override {
    reply(v1::ListWorkersResponse());
  }
  void GetLogs(v1::GetLogsRequest, absl::Duration, Reply<v1::GetLogsResponse> reply) override {
    v1::GetLogsResponse response;
    response.add_logs()->set_output_tail(std::string(log_bytes, 'x'));
    reply(std::move(response));
  }
  void Calibrate(v1::CalibrateRequest request, absl::Duration,
                 Reply<v1::CalibrateResponse> reply) override {
    v1::CalibrateResponse response;
    response.set_doing("measuring for " + request.calibration_id());
    reply(std::move(response));
  }

  int submits = 0;
  bool silent = false;
  bool endless = false;
  int watched = 0;
  std::size_t log_bytes = 0;
  int subscriptions = 0;
  absl::Status refusal;
  std::function<void()> before_answer;
  std::vector<Reply<v1::SubmitResponse>> kept;
  std::vector<absl::AnyInvocable<void(absl::Status)>> ends;

 private:
  struct Counted final : Subscription {
    explicit Counted(int& open) : open_(open) {}
    ~Counted() override { --open_; }
    int& open_;
  };
};

/// Echoes ids, so that a mixed-up method shows.
class ScriptedClusterApi final : public ClusterApi {
 public:
  void Register(v1::RegisterRequest, absl::Duration, Reply<v1::RegisterResponse> reply) override {
    v1::RegisterResponse response;
    response.set_worker_id(7);
    reply(std::move(response));
  }
  void Heartbeat(v1::HeartbeatRequest request, absl::Duration,
                 Reply<v1::HeartbeatResponse> reply) override {
    v1::HeartbeatResponse response;
    response.add_release_jobs(std::to_string(request.worker_id()));
    reply(std::move(response));
  }
  void ReportStep(v1::ReportStepRequest, absl::Duration,
                  Reply<v1::ReportStepResponse> reply) override {
    ++step_reports;
    reply(v1::ReportStepResponse());
  }
  void ReportTransfer(v1::ReportTransferRequest, absl::Duration,
                      Reply<v1::ReportTransferResponse> reply) override {
    ++transfer_reports;
    reply(absl::AbortedError("stale"));
  }
  int step_reports = 0;
  int transfer_reports = 0;
};

class ScriptedWorkerApi final : public WorkerApi {
 public:
  void PrepareJob(v1::PrepareJobRequest request, absl::Duration,
                  Reply<v1::PrepareJobResponse> reply) override {
    calls.push_back("prepare " + request.fence().job_id());
    reply(v1::PrepareJobResponse());
  }
  void StartStep(v1::StartStepRequest, absl::Duration,
                 Reply<v1::StartStepResponse> reply) override {
    calls.push_back("start");
    reply(v1::StartStepResponse());
  }
  void GrantTransfer(v1::GrantTransferRequest, absl::Duration,
                     Reply<v1::GrantTransferResponse> reply) override {
    calls.push_back("grant");
    reply(v1::GrantTransferResponse());
  }
  void ReleaseJob(v1::ReleaseJobRequest, absl::Duration,
                  Reply<v1::ReleaseJobResponse> reply) override {
    calls.push_back("release");
    v1::ReleaseJobResponse response;
    response.set_task_output_tail(std::string("\xff\0x", 3));
    reply(std::move(response));
  }
  void Probe(v1::ProbeRequest request, absl::Duration, Reply<v1::ProbeResponse> reply) override {
    calls.push_back("probe " + request.fence().job_id());
    v1::ProbeResponse response;
    response.set_bytes(request.fetch().bytes_max());
    reply(std::move(response));
  }
  std::vector<std::string> calls;
};

}  // namespace weir::rpc
