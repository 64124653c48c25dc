#pragma once

// The table of all RPC methods: what each is called, asks and answers, how long its caller waits,
// and what must hold of a request. Callers, servers and the carriers between them (gRPC, in
// process, the simulator) are made from these rows; services.proto says the same to programs that
// are not ours. Upstream: api.h. Downstream: the messages. Checked by:
// tests/unit/rpc/methods_test.cc (the rows against services.proto).

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/base/limits.h"
#include "weir/v1/services.pb.h"

namespace weir::rpc {

template <typename... Methods>
struct MethodList {};

/// A method with one request and one answer.
template <typename ServiceOfMethod, typename RequestOfMethod, typename ResponseOfMethod>
struct Unary {
  using Service = ServiceOfMethod;
  using Request = RequestOfMethod;
  using Response = ResponseOfMethod;
  static constexpr bool kStreams = false;
  /// Deadline of a call whose caller names none.
  static constexpr absl::Duration kTimeout = limits::kCallTimeout;
  /// Checks a request in itself: ranges, sizes, names; not whether what it names exists.
  /// Errors: kInvalidArgument naming field, value and what is legal.
  /// Checked by: tests/unit/rpc/check_requests_test.cc.
  static absl::Status Check(const Request&) { return absl::OkStatus(); }
};

/// A method with one request and as many answers as the server likes, until one of the two ends it.
/// It has no deadline. A caller that is slow misses answers in between, never the last one.
template <typename ServiceOfMethod, typename RequestOfMethod, typename ResponseOfMethod>
struct Stream {
  using Service = ServiceOfMethod;
  using Request = RequestOfMethod;
  using Response = ResponseOfMethod;
  static constexpr bool kStreams = true;
  /// As of Unary; a stream that is refused ends with it before its first answer.
  static absl::Status Check(const Request&) { return absl::OkStatus(); }
};

// For users; the master serves it.
struct JobService;

struct Submit : Unary<JobService, v1::SubmitRequest, v1::SubmitResponse> {
  static constexpr char kName[] = "Submit";
  // Listing a million input files takes the master a while.
  static constexpr absl::Duration kTimeout = absl::Seconds(60);
  static absl::Status Check(const Request& request);
};
/// The state now, then one for each change, in order; ends after a terminal state.
struct Watch : Stream<JobService, v1::WatchRequest, v1::JobStatus> {
  static constexpr char kName[] = "Watch";
};
struct GetStatus : Unary<JobService, v1::GetStatusRequest, v1::JobStatus> {
  static constexpr char kName[] = "GetStatus";
};
struct ListJobs : Unary<JobService, v1::ListJobsRequest, v1::ListJobsResponse> {
  static constexpr char kName[] = "ListJobs";
};
struct Cancel : Unary<JobService, v1::CancelRequest, v1::CancelResponse> {
  static constexpr char kName[] = "Cancel";
};
struct GetPlan : Unary<JobService, v1::GetPlanRequest, v1::GetPlanResponse> {
  static constexpr char kName[] = "GetPlan";
};
struct DryRun : Unary<JobService, v1::DryRunRequest, v1::GetPlanResponse> {
  static constexpr char kName[] = "DryRun";
  // Inputs are listed and the plan is computed before the answer comes.
  static constexpr absl::Duration kTimeout = absl::Seconds(60);
  static absl::Status Check(const Request& request);
};
/// The answers of the two above where one message does not hold them (plan_pieces.h). There are so
/// few pieces that a slow caller misses none.
struct GetPlanPieces : Stream<JobService, v1::GetPlanRequest, v1::PlanPiece> {
  static constexpr char kName[] = "GetPlanPieces";
};
struct DryRunPieces : Stream<JobService, v1::DryRunRequest, v1::PlanPiece> {
  static constexpr char kName[] = "DryRunPieces";
  static absl::Status Check(const Request& request) { return DryRun::Check(request); }
};
struct ListWorkers : Unary<JobService, v1::ListWorkersRequest, v1::ListWorkersResponse> {
  static constexpr char kName[] = "ListWorkers";
};
struct GetLogs : Unary<JobService, v1::GetLogsRequest, v1::GetLogsResponse> {
  static constexpr char kName[] = "GetLogs";
};
struct Calibrate : Unary<JobService, v1::CalibrateRequest, v1::CalibrateResponse> {
  static constexpr char kName[] = "Calibrate";
  static absl::Status Check(const Request& request);
};
/// Answered when the last member has joined, or when the request's own wait is over.
struct JoinGroup : Unary<JobService, v1::JoinGroupRequest, v1::JoinGroupResponse> {
  static constexpr char kName[] = "JoinGroup";
  // The longest wait that a request may name. A member that waits for less gives its own.
  static constexpr absl::Duration kTimeout = limits::kGroupWaitMax;
  static absl::Status Check(const Request& request);
};

struct PutArtifact : Unary<JobService, v1::PutArtifactRequest, v1::PutArtifactResponse> {
  static constexpr char kName[] = "PutArtifact";
  // A piece over a thin link; the last one also waits until the whole is synced.
  static constexpr absl::Duration kTimeout = absl::Seconds(30);
  static absl::Status Check(const Request& request);
};

struct JobService {
  static constexpr char kName[] = "weir.v1.JobService";
  /// Where certificates say what their holders are, those of this role are answered.
  static constexpr char kCallerRole[] = "client";
  using Methods =
      MethodList<Submit, Watch, GetStatus, ListJobs, Cancel, GetPlan, DryRun, GetPlanPieces,
                 DryRunPieces, ListWorkers, GetLogs, Calibrate, JoinGroup, PutArtifact>;
};

// For workers; the master serves it.
struct ClusterService;

struct Register : Unary<ClusterService, v1::RegisterRequest, v1::RegisterResponse> {
  static constexpr char kName[] = "Register";
  static absl::Status Check(const Request& request);
};
struct Heartbeat : Unary<ClusterService, v1::HeartbeatRequest, v1::HeartbeatResponse> {
  static constexpr char kName[] = "Heartbeat";
  static absl::Status Check(const Request& request);
};
struct ReportStep : Unary<ClusterService, v1::ReportStepRequest, v1::ReportStepResponse> {
  static constexpr char kName[] = "ReportStep";
  static absl::Status Check(const Request& request);
};
struct ReportTransfer
    : Unary<ClusterService, v1::ReportTransferRequest, v1::ReportTransferResponse> {
  static constexpr char kName[] = "ReportTransfer";
  static absl::Status Check(const Request& request);
};

struct FetchArtifact : Unary<ClusterService, v1::FetchArtifactRequest, v1::FetchArtifactResponse> {
  static constexpr char kName[] = "FetchArtifact";
  // A piece over a thin link that all workers share.
  static constexpr absl::Duration kTimeout = absl::Seconds(15);
  static absl::Status Check(const Request& request);
};

struct ClusterService {
  static constexpr char kName[] = "weir.v1.ClusterService";
  static constexpr char kCallerRole[] = "worker";
  using Methods = MethodList<Register, Heartbeat, ReportStep, ReportTransfer, FetchArtifact>;
};

// For the master; each worker daemon serves it.
struct WorkerService;

struct PrepareJob : Unary<WorkerService, v1::PrepareJobRequest, v1::PrepareJobResponse> {
  static constexpr char kName[] = "PrepareJob";
  // A task that does not start is reported after limits::kTaskStart; asked twice meanwhile.
  static constexpr absl::Duration kTimeout = absl::Seconds(4);
  static absl::Status Check(const Request& request);
};
struct StartStep : Unary<WorkerService, v1::StartStepRequest, v1::StartStepResponse> {
  static constexpr char kName[] = "StartStep";
  // Two tries inside limits::kCallTimeout.
  static constexpr absl::Duration kTimeout = absl::Milliseconds(2400);
  static absl::Status Check(const Request& request);
};
struct GrantTransfer : Unary<WorkerService, v1::GrantTransferRequest, v1::GrantTransferResponse> {
  static constexpr char kName[] = "GrantTransfer";
  // As StartStep.
  static constexpr absl::Duration kTimeout = absl::Milliseconds(2400);
  static absl::Status Check(const Request& request);
};
/// Answered once the fetch has ended.
struct CancelTransfer
    : Unary<WorkerService, v1::CancelTransferRequest, v1::CancelTransferResponse> {
  static constexpr char kName[] = "CancelTransfer";
  // As StartStep.
  static constexpr absl::Duration kTimeout = absl::Milliseconds(2400);
  static absl::Status Check(const Request& request);
};
/// Answered once the sockets of the sends that are under way have their rates.
struct SetRates : Unary<WorkerService, v1::SetRatesRequest, v1::SetRatesResponse> {
  static constexpr char kName[] = "SetRates";
  // As StartStep.
  static constexpr absl::Duration kTimeout = absl::Milliseconds(2400);
  static absl::Status Check(const Request& request);
};
/// Answered once the task process is gone: SIGTERM, then SIGKILL after limits::kTaskKillGrace.
struct ReleaseJob : Unary<WorkerService, v1::ReleaseJobRequest, v1::ReleaseJobResponse> {
  static constexpr char kName[] = "ReleaseJob";
  static absl::Status Check(const Request& request);
};
/// Answered whatever the worker is about.
struct Identify : Unary<WorkerService, v1::IdentifyRequest, v1::IdentifyResponse> {
  static constexpr char kName[] = "Identify";
  // Within the call that registers a worker.
  static constexpr absl::Duration kTimeout = limits::kCallBackTimeout;
};
struct Probe : Unary<WorkerService, v1::ProbeRequest, v1::ProbeResponse> {
  static constexpr char kName[] = "Probe";
  static absl::Status Check(const Request& request);
};

struct WorkerService {
  static constexpr char kName[] = "weir.v1.WorkerService";
  static constexpr char kCallerRole[] = "master";
  using Methods = MethodList<PrepareJob, StartStep, GrantTransfer, CancelTransfer, SetRates,
                             ReleaseJob, Identify, Probe>;
};

}  // namespace weir::rpc
