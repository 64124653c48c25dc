#pragma once

// The three RPC surfaces as plain interfaces. Clients call them; servers implement them;
// runtime/rpc/grpc carries them between processes, runtime/rpc/in_process between loops of one
// process, tests/sim under virtual time.

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "weir/v1/services.pb.h"

namespace weir::rpc {

/// Called exactly once, on the loop of the caller, at the latest when the call's deadline has
/// passed (kDeadlineExceeded, outcome unknown). kUnavailable: peer unreachable, outcome unknown as
/// well.
template <typename Response>
using Reply = absl::AnyInvocable<void(absl::StatusOr<Response>)>;

/// Ends its stream when destroyed; no callback comes after that. Destroy on the loop.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

/// For users; the master implements it.
class JobApi {
 public:
  virtual ~JobApi() = default;
  virtual void Submit(v1::SubmitRequest request, absl::Duration timeout,
                      Reply<v1::SubmitResponse> reply) = 0;
  /// `on_status` once per change, in order; then `on_end` once: OK after a terminal state, else why
  /// it broke off.
  virtual std::unique_ptr<Subscription> Watch(v1::WatchRequest request,
                                              absl::AnyInvocable<void(v1::JobStatus)> on_status,
                                              absl::AnyInvocable<void(absl::Status)> on_end) = 0;
  virtual void GetStatus(v1::GetStatusRequest request, absl::Duration timeout,
                         Reply<v1::JobStatus> reply) = 0;
  virtual void ListJobs(v1::ListJobsRequest request, absl::Duration timeout,
                        Reply<v1::ListJobsResponse> reply) = 0;
  virtual void Cancel(v1::CancelRequest request, absl::Duration timeout,
                      Reply<v1::CancelResponse> reply) = 0;
  virtual void GetPlan(v1::GetPlanRequest request, absl::Duration timeout,
                       Reply<v1::GetPlanResponse> reply) = 0;
  virtual void DryRun(v1::DryRunRequest request, absl::Duration timeout,
                      Reply<v1::GetPlanResponse> reply) = 0;
  virtual void ListWorkers(v1::ListWorkersRequest request, absl::Duration timeout,
                           Reply<v1::ListWorkersResponse> reply) = 0;
  virtual void GetLogs(v1::GetLogsRequest request, absl::Duration timeout,
                       Reply<v1::GetLogsResponse> reply) = 0;
  virtual void Calibrate(v1::CalibrateRequest request, absl::Duration timeout,
                         Reply<v1::CalibrateResponse> reply) = 0;
};

/// For workers; the master implements it.
class ClusterApi {
 public:
  virtual ~ClusterApi() = default;
  virtual void Register(v1::RegisterRequest request, absl::Duration timeout,
                        Reply<v1::RegisterResponse> reply) = 0;
  virtual void Heartbeat(v1::HeartbeatRequest request, absl::Duration timeout,
                         Reply<v1::HeartbeatResponse> reply) = 0;
  virtual void ReportStep(v1::ReportStepRequest request, absl::Duration timeout,
                          Reply<v1::ReportStepResponse> reply) = 0;
  virtual void ReportTransfer(v1::ReportTransferRequest request, absl::Duration timeout,
                              Reply<v1::ReportTransferResponse> reply) = 0;
};

/// For the master; each worker daemon implements it.
class WorkerApi {
 public:
  virtual ~WorkerApi() = default;
  virtual void PrepareJob(v1::PrepareJobRequest request, absl::Duration timeout,
                          Reply<v1::PrepareJobResponse> reply) = 0;
  virtual void StartStep(v1::StartStepRequest request, absl::Duration timeout,
                         Reply<v1::StartStepResponse> reply) = 0;
  virtual void GrantTransfer(v1::GrantTransferRequest request, absl::Duration timeout,
                             Reply<v1::GrantTransferResponse> reply) = 0;
  virtual void ReleaseJob(v1::ReleaseJobRequest request, absl::Duration timeout,
                          Reply<v1::ReleaseJobResponse> reply) = 0;
  virtual void Probe(v1::ProbeRequest request, absl::Duration timeout,
                     Reply<v1::ProbeResponse> reply) = 0;
};

/// Opens the way to a worker's control endpoint. Never blocks; an unreachable worker shows at the
/// first call.
class WorkerConnector {
 public:
  virtual ~WorkerConnector() = default;
  virtual std::unique_ptr<WorkerApi> Connect(const std::string& control_endpoint) = 0;
  /// Tries, over a connection of its own, whether a worker's process is gone. `on_answer` comes
  /// exactly once, on the loop of the caller, within `timeout`: true only when the host itself says
  /// that nobody listens there. Silence and every other failure tell nothing, and are false.
  virtual void AskIfGone(const std::string& control_endpoint, absl::Duration timeout,
                         absl::AnyInvocable<void(bool gone)> on_answer) = 0;
};

}  // namespace weir::rpc
