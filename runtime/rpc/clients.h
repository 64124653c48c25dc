#pragma once

// The three surfaces as clients, written once for all carriers. A carrier has
//   Call(name, &Api::Method, request, timeout, reply)   one request, one answer
//   Watch(request, on_status, on_end)                   the stream of JobApi (carriers of JobApi)
// Upstream: callers of api.h. Downstream: in_process, grpc.

#include <memory>
#include <utility>

#include "runtime/rpc/api.h"

namespace weir::rpc {

/// JobApi over a carrier.
template <typename Carrier>
class JobClient final : public JobApi {
 public:
  explicit JobClient(Carrier carrier) : carrier_(std::move(carrier)) {}
  void Submit(v1::SubmitRequest request, absl::Duration timeout,
              Reply<v1::SubmitResponse> reply) override {
    carrier_.Call("Submit", &JobApi::Submit, std::move(request), timeout, std::move(reply));
  }
  void GetStatus(v1::GetStatusRequest request, absl::Duration timeout,
                 Reply<v1::JobStatus> reply) override {
    carrier_.Call("GetStatus", &JobApi::GetStatus, std::move(request), timeout, std::move(reply));
  }
  void ListJobs(v1::ListJobsRequest request, absl::Duration timeout,
                Reply<v1::ListJobsResponse> reply) override {
    carrier_.Call("ListJobs", &JobApi::ListJobs, std::move(request), timeout, std::move(reply));
  }
  void Cancel(v1::CancelRequest request, absl::Duration timeout,
              Reply<v1::CancelResponse> reply) override {
    carrier_.Call("Cancel", &JobApi::Cancel, std::move(request), timeout, std::move(reply));
  }
  void GetPlan(v1::GetPlanRequest request, absl::Duration timeout,
               Reply<v1::GetPlanResponse> reply) override {
    carrier_.Call("GetPlan", &JobApi::GetPlan, std::move(request), timeout, std::move(reply));
  }
  void DryRun(v1::DryRunRequest request, absl::Duration timeout,
              Reply<v1::GetPlanResponse> reply) override {
    carrier_.Call("DryRun", &JobApi::DryRun, std::move(request), timeout, std::move(reply));
  }
  void ListWorkers(v1::ListWorkersRequest request, absl::Duration timeout,
                   Reply<v1::ListWorkersResponse> reply) override {
    carrier_.Call("ListWorkers", &JobApi::ListWorkers, std::move(request), timeout,
                  std::move(reply));
  }
  void GetLogs(v1::GetLogsRequest request, absl::Duration timeout,
               Reply<v1::GetLogsResponse> reply) override {
    carrier_.Call("GetLogs", &JobApi::GetLogs, std::move(request), timeout, std::move(reply));
  }
  void Calibrate(v1::CalibrateRequest request, absl::Duration timeout,
                 Reply<v1::CalibrateResponse> reply) override {
    carrier_.Call("Calibrate", &JobApi::Calibrate, std::move(request), timeout, std::move(reply));
  }
  std::unique_ptr<Subscription> Watch(v1::WatchRequest request,
                                      absl::AnyInvocable<void(v1::JobStatus)> on_status,
                                      absl::AnyInvocable<void(absl::Status)> on_end) override {
    return carrier_.Watch(std::move(request), std::move(on_status), std::move(on_end));
  }

 private:
  Carrier carrier_;
};

/// ClusterApi over a carrier.
template <typename Carrier>
class ClusterClient final : public ClusterApi {
 public:
  explicit ClusterClient(Carrier carrier) : carrier_(std::move(carrier)) {}
  void Register(v1::RegisterRequest request, absl::Duration timeout,
                Reply<v1::RegisterResponse> reply) override {
    carrier_.Call("Register", &ClusterApi::Register, std::move(request), timeout, std::move(reply));
  }
  void Heartbeat(v1::HeartbeatRequest request, absl::Duration timeout,
                 Reply<v1::HeartbeatResponse> reply) override {
    carrier_.Call("Heartbeat", &ClusterApi::Heartbeat, std::move(request), timeout,
                  std::move(reply));
  }
  void ReportStep(v1::ReportStepRequest request, absl::Duration timeout,
                  Reply<v1::ReportStepResponse> reply) override {
    carrier_.Call("ReportStep", &ClusterApi::ReportStep, std::move(request), timeout,
                  std::move(reply));
  }
  void ReportTransfer(v1::ReportTransferRequest request, absl::Duration timeout,
                      Reply<v1::ReportTransferResponse> reply) override {
    carrier_.Call("ReportTransfer", &ClusterApi::ReportTransfer, std::move(request), timeout,
                  std::move(reply));
  }

 private:
  Carrier carrier_;
};

/// WorkerApi over a carrier.
template <typename Carrier>
class WorkerClient final : public WorkerApi {
 public:
  explicit WorkerClient(Carrier carrier) : carrier_(std::move(carrier)) {}
  void PrepareJob(v1::PrepareJobRequest request, absl::Duration timeout,
                  Reply<v1::PrepareJobResponse> reply) override {
    carrier_.Call("PrepareJob", &WorkerApi::PrepareJob, std::move(request), timeout,
                  std::move(reply));
  }
  void StartStep(v1::StartStepRequest request, absl::Duration timeout,
                 Reply<v1::StartStepResponse> reply) override {
    carrier_.Call("StartStep", &WorkerApi::StartStep, std::move(request), timeout,
                  std::move(reply));
  }
  void GrantTransfer(v1::GrantTransferRequest request, absl::Duration timeout,
                     Reply<v1::GrantTransferResponse> reply) override {
    carrier_.Call("GrantTransfer", &WorkerApi::GrantTransfer, std::move(request), timeout,
                  std::move(reply));
  }
  void ReleaseJob(v1::ReleaseJobRequest request, absl::Duration timeout,
                  Reply<v1::ReleaseJobResponse> reply) override {
    carrier_.Call("ReleaseJob", &WorkerApi::ReleaseJob, std::move(request), timeout,
                  std::move(reply));
  }
  void Probe(v1::ProbeRequest request, absl::Duration timeout,
             Reply<v1::ProbeResponse> reply) override {
    carrier_.Call("Probe", &WorkerApi::Probe, std::move(request), timeout, std::move(reply));
  }

 private:
  Carrier carrier_;
};

}  // namespace weir::rpc
