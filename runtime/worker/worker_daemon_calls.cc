// What the master orders: fences and ids are checked here, the rest is the job's.

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/worker/worker_daemon.h"

namespace weir::worker {

void WorkerDaemon::PrepareJob(v1::PrepareJobRequest request, absl::Duration,
                              rpc::Reply<v1::PrepareJobResponse> reply) {
  const std::string job_id = request.fence().job_id();
  if (state_ != State::kServing) {
    return reply(absl::UnavailableError(
        absl::StrCat("worker ", options_.name, " takes no new jobs; it is about to stop")));
  }
  if (absl::Status status = CheckJobId(job_id); !status.ok()) return reply(status);
  const absl::StatusOr<Admission> admission = table_.Prepare(request.fence());
  if (!admission.ok()) return reply(admission.status());
  if (*admission == Admission::kNew) {
    LogInfo("Job prepared", {{"job", job_id}, {"worker", options_.name}});
    jobs_[job_id] = std::make_shared<WorkerJob>(options_, seams_, keeper_.registration()->worker_id,
                                                directory_->path(), std::move(request));
  } else if (*admission == Admission::kRenewed) {
    LogInfo("Job goes on under a new plan", {{"job", job_id}, {"worker", options_.name}});
    jobs_.at(job_id)->Renew(std::move(request));
  }
  jobs_.at(job_id)->Prepare([reply = std::move(reply)](const absl::Status& status) mutable {
    if (!status.ok()) return reply(status);
    reply(v1::PrepareJobResponse());
  });
}

void WorkerDaemon::StartStep(v1::StartStepRequest request, absl::Duration,
                             rpc::Reply<v1::StartStepResponse> reply) {
  const v1::Fence& fence = request.fence();
  const absl::StatusOr<Admission> admission = table_.TakeStep(fence, request.order().step());
  if (!admission.ok()) return reply(admission.status());
  if (*admission == Admission::kNew) {
    if (absl::Status status = jobs_.at(fence.job_id())->StartStep(request); !status.ok()) {
      table_.ForgetStep(fence, request.order().step());
      return reply(status);
    }
  }
  reply(v1::StartStepResponse());
}

void WorkerDaemon::GrantTransfer(v1::GrantTransferRequest request, absl::Duration,
                                 rpc::Reply<v1::GrantTransferResponse> reply) {
  const v1::Fence fence = request.fence();
  const int transfer = request.order().transfer();
  const absl::StatusOr<Admission> admission = table_.TakeTransfer(fence, transfer);
  if (!admission.ok()) return reply(admission.status());
  if (*admission == Admission::kNew) {
    absl::Status status = jobs_.at(fence.job_id())->GrantTransfer(std::move(request));
    if (!status.ok()) {
      table_.ForgetTransfer(fence, transfer);
      return reply(status);
    }
  }
  reply(v1::GrantTransferResponse());
}

void WorkerDaemon::Probe(v1::ProbeRequest request, absl::Duration,
                         rpc::Reply<v1::ProbeResponse> reply) {
  if (absl::Status fenced = table_.CheckProbe(request.fence()); !fenced.ok()) return reply(fenced);
  if (absl::Status status = CheckJobId(request.fence().job_id()); !status.ok()) {
    return reply(status);
  }
  if (!jobs_.empty()) {
    return reply(absl::FailedPreconditionError(
        absl::StrCat("worker ", options_.name, " holds job ", jobs_.begin()->first,
                     ": what a probe measured now would be neither the network's nor the job's")));
  }
  prober_.Take(std::move(request), directory_->path(), std::move(reply));
}

void WorkerDaemon::ReleaseJob(v1::ReleaseJobRequest request, absl::Duration,
                              rpc::Reply<v1::ReleaseJobResponse> reply) {
  const std::string job_id = request.fence().job_id();
  const absl::StatusOr<Admission> admission = table_.BeginRelease(request.fence());
  if (absl::IsNotFound(admission.status())) {
    v1::ReleaseJobResponse response;
    response.set_task_output_tail(table_.ReleasedOutput(job_id).value_or(""));
    return reply(std::move(response));
  }
  if (!admission.ok()) return reply(admission.status());
  Release(job_id, [reply = std::move(reply)](const absl::StatusOr<std::string>& tail) mutable {
    if (!tail.ok()) return reply(tail.status());
    v1::ReleaseJobResponse response;
    response.set_task_output_tail(*tail);
    reply(std::move(response));
  });
}

void WorkerDaemon::Release(const std::string& job_id, WorkerJob::Released released) {
  table_.MarkReleasing(job_id);
  jobs_.at(job_id)->Release(WhileAlive(
      [this, job_id, released = std::move(released)](absl::StatusOr<std::string> tail) mutable {
        if (tail.ok()) {
          LogInfo("Job released", {{"job", job_id}, {"worker", options_.name}});
          table_.EndRelease(job_id, *tail);
          jobs_.erase(job_id);
        }
        released(std::move(tail));
        OnJobGone();
      }));
}

void WorkerDaemon::OnJobGone() {
  if (!jobs_.empty()) return;
  if (drained_) std::exchange(drained_, nullptr)();
  if (state_ == State::kStopping) RemoveDirectory();
}

void WorkerDaemon::RemoveDirectory() {
  state_ = State::kStopped;
  auto removed = WhileAlive([this](const absl::Status& status) {
    if (!status.ok()) {
      LogWarning("Work directory not removed", {{"error", status.message()}});
    }
    LogInfo("Worker stopped", {{"worker", options_.name}});
    std::exchange(stopped_, nullptr)();
  });
  auto remove = [&storage = seams_.storage,
                 directory = std::exchange(directory_, std::nullopt)]() mutable {
    return directory ? directory->Remove(storage) : absl::OkStatus();
  };
  seams_.disk_pool.Run(
      [&loop = seams_.loop, remove = std::move(remove), removed = std::move(removed)]() mutable {
        loop.Post([status = remove(), removed = std::move(removed)]() mutable { removed(status); });
      });
}

}  // namespace weir::worker
