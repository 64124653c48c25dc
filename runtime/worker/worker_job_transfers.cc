// The transfers of one job: granted pieces of other workers' runs, fetched or handed over.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "runtime/worker/worker_job.h"

namespace weir::worker {
namespace {

absl::Status CheckGrant(const v1::TransferGrant& order) {
  if (absl::Status status = CheckRunId(order.run_id()); !status.ok()) return status;
  if (order.handover()) return CheckHandoverSource(order.source_run_path(), order.run_id());
  const bool inside =
      order.bytes() > 0 && order.section_offset() >= 0 &&
      order.offset() >= order.section_offset() &&
      order.offset() - order.section_offset() <= order.section_bytes() - order.bytes();
  if (inside) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("transfer ", order.transfer(), ": ", order.bytes(), " bytes at ", order.offset(),
                   " are not inside the section of ", order.section_bytes(), " bytes at ",
                   order.section_offset()));
}

absl::Status HasArrived(int transfer) {
  return absl::AlreadyExistsError(absl::StrCat("transfer ", transfer, " has arrived"));
}

}  // namespace

absl::Status WorkerJob::GrantTransfer(v1::GrantTransferRequest request) {
  if (state_ != State::kReady && state_ != State::kFailed) {
    return absl::FailedPreconditionError("the job is not prepared");
  }
  if (absl::Status status = CheckGrant(request.order()); !status.ok()) return status;
  if (absl::Status status = transfers_.Add(std::move(request)); !status.ok()) return status;
  StartReadyTransfers();
  return absl::OkStatus();
}

void WorkerJob::CancelTransfer(int transfer, int attempt, Cancelled cancelled) {
  const auto moving = moving_.find({transfer, attempt});
  if (moving == moving_.end()) {
    transfers_.Remove(transfer, attempt);
    return cancelled(arrived_.contains({transfer, attempt}) ? HasArrived(transfer)
                                                            : absl::OkStatus());
  }
  moving->second.push_back(std::move(cancelled));
  // A run that is handed over is there in a moment.
  seams_.fetcher.Cancel(request_.fence().job_id(), transfer);
}

void WorkerJob::StartReadyTransfers() {
  for (const v1::GrantTransferRequest& grant : transfers_.TakeReady()) {
    moving_[{grant.order().transfer(), grant.fence().attempt()}];
    if (grant.order().handover()) {
      HandOver(grant);
    } else {
      Fetch(grant);
    }
  }
}

void WorkerJob::HandOver(const v1::GrantTransferRequest& grant) {
  OnDiskPool([&storage = seams_.storage, source = grant.order().source_run_path(),
              destination = paths_.HandedOverRun(
                  grant.order().run_id())] { return storage.HandOverRun(source, destination); },
             [this, grant, started = seams_.loop.Now()](const absl::Status& status) {
               OnTransferEnd(grant, status, absl::ToDoubleSeconds(seams_.loop.Now() - started));
             });
}

void WorkerJob::Fetch(const v1::GrantTransferRequest& grant) {
  const v1::TransferGrant& order = grant.order();
  const v1::Fence& fence = grant.fence();
  transfer::FetchOrder fetch;
  fetch.key = {fence.job_id(), order.job_token(), fence.master_epoch(), fence.plan_epoch()};
  fetch.transfer = order.transfer();
  fetch.attempt = fence.attempt();
  fetch.peer_endpoint = order.source_endpoint();
  fetch.peer_name = order.source_worker();
  fetch.run_id = order.run_id();
  fetch.offset = order.offset();
  fetch.bytes = order.bytes();
  fetch.destination_path = paths_.ReceivedSection(order.run_id(), order.section_offset());
  fetch.destination_offset = order.offset() - order.section_offset();
  fetch.pacing_bytes_per_s = order.pacing_bytes_per_s();
  fetch.look_ahead_bytes = order.look_ahead_bytes();
  fetch.grant_ahead_bytes = std::max(order.grant_ahead_bytes(), order.look_ahead_bytes());
  fetch.concurrent = order.concurrent();
  fetch.plan_edit = fence.plan_edit();
  seams_.fetcher.Fetch(
      std::move(fetch),
      WhileAlive([this, grant](std::int64_t bytes_left) { OnNearlyDone(grant, bytes_left); }),
      WhileAlive([this, grant](const absl::StatusOr<transfer::FetchResult>& result) {
        OnTransferEnd(grant, result.status(), result.ok() ? result->seconds : 0);
        if (state_ == State::kReleasing) RemoveWhenIdle();
      }));
}

void WorkerJob::OnNearlyDone(const v1::GrantTransferRequest& grant, std::int64_t bytes_left) {
  // Without look-ahead this would come with the last byte: the end says the same, and the ports
  // stay taken until the bytes are on this worker's disk.
  if (state_ == State::kReleasing || bytes_left == 0) return;
  const v1::TransferGrant& order = grant.order();
  if (bytes_left >= order.grant_ahead_bytes()) {
    v1::TransferReport report;
    report.set_transfer(order.transfer());
    report.set_nearly_done(true);
    report.set_bytes_left(bytes_left);
    ReportTransfer(grant.fence(), std::move(report));
  }
  if (bytes_left > order.look_ahead_bytes()) return;
  transfers_.OnNearlyDone(order.transfer());
  StartReadyTransfers();
}

void WorkerJob::OnTransferEnd(const v1::GrantTransferRequest& grant, const absl::Status& status,
                              double run_s) {
  const int transfer = grant.order().transfer();
  const std::pair attempt{transfer, grant.fence().attempt()};
  std::vector<Cancelled> cancelled = std::move(moving_.extract(attempt).mapped());
  if (status.ok()) arrived_.insert(attempt);
  for (Cancelled& told : cancelled) told(status.ok() ? HasArrived(transfer) : absl::OkStatus());
  if (state_ == State::kReleasing) return;
  if (cancelled.empty() || status.ok()) ReportTransferEnd(grant, status, run_s);
  transfers_.OnDone(transfer);
  StartReadyTransfers();
}

void WorkerJob::ReportTransferEnd(const v1::GrantTransferRequest& grant, const absl::Status& status,
                                  double run_s) {
  v1::TransferReport report;
  report.set_transfer(grant.order().transfer());
  report.set_done(true);
  report.set_run_s(run_s);
  if (status.ok()) {
    report.set_bytes(grant.order().bytes());
    return ReportTransfer(grant.fence(), std::move(report));
  }
  report.set_bytes(transfer::BytesBefore(status));
  FindCause(TransferError(grant.order(), status),
            [this, fence = grant.fence(), report](v1::JobError cause) mutable {
              if (state_ == State::kReleasing) return;
              *report.mutable_error() = std::move(cause);
              ReportTransfer(fence, std::move(report));
            });
}

v1::JobError WorkerJob::TransferError(const v1::TransferGrant& order,
                                      const absl::Status& status) const {
  const std::string step = absl::StrCat("transfer ", order.transfer());
  // Only this worker's files fail by a number; a link is made of two workers' files.
  const bool own_file = ErrnoOf(status) != 0 && (IsDiskFull(status) || !order.handover());
  if (own_file) return Named(OwnError(status), step);
  const std::string message =
      absl::StrCat("run ", order.run_id(), " of worker ", order.source_worker(),
                   " did not reach worker ", options_.name, ": ", status.message());
  v1::JobError error;
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      error = MakeJobError(
          job_error::kWorkerUnreachable, message,
          absl::StrCat("check that worker ", order.source_worker(), " runs and that its data port ",
                       order.source_endpoint(), " can be reached from worker ", options_.name));
      error.set_worker(order.source_worker());
      break;
    case absl::StatusCode::kDataLoss:
      error = MakeJobError(job_error::kDataLoss, message,
                           "check the disks and memory of both workers; submit the job again");
      error.set_fault_of(v1::FAULT_OF_EXCHANGE);
      if (transfer::SenderCannotRead(status)) {
        error.set_fault_of(v1::FAULT_OF_WORKER);
        error.set_worker(order.source_worker());
      }
      break;
    default:
      error = MakeJobError(job_error::kTransferFailed, message,
                           "see the log of both workers; submit the job again");
  }
  return Named(std::move(error), step);
}

void WorkerJob::ReportTransfer(const v1::Fence& fence, v1::TransferReport report) {
  v1::ReportTransferRequest request;
  *request.mutable_fence() = fence;
  request.set_worker_id(worker_id_);
  const std::string what = absl::StrCat("transfer ", report.transfer(), " of job ", fence.job_id());
  *request.mutable_report() = std::move(report);
  reports_.Deliver(
      what, [&cluster = seams_.cluster, request = std::move(request)](ReportSender::Answer answer) {
        cluster.Send<rpc::ReportTransfer>(
            request, [answer = std::move(answer)](const auto& response) mutable {
              answer(response.status());
            });
      });
}

}  // namespace weir::worker
