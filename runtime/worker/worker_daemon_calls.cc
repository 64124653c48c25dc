// What the master orders: fences are checked here, the rest is the job's.

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/log.h"
#include "runtime/worker/worker_daemon.h"

namespace weir::worker {

void WorkerDaemon::Handle(rpc::Call<rpc::PrepareJob> call) {
  const std::string job_id = call.request.fence().job_id();
  if (state_ != State::kServing) {
    return call.reply(absl::UnavailableError(
        absl::StrCat("worker ", options_.name, " takes no new jobs; it is about to stop")));
  }
  const absl::StatusOr<Admission> admission = table_.Prepare(call.request.fence());
  if (!admission.ok()) return call.reply(admission.status());
  if (*admission == Admission::kNew) {
    LogInfo("Job prepared", {{"job", job_id}, {"worker", options_.name}});
    std::optional<v1::HeldJob> earlier;
    if (auto held = held_.extract(job_id); !held.empty()) earlier = std::move(held.mapped());
    jobs_[job_id] = MakeJob(std::move(call.request), std::move(earlier));
  } else if (*admission != Admission::kRepeated) {
    LogInfo("Job goes on under a new plan", {{"job", job_id}, {"worker", options_.name}});
    // A job that failed here has nothing to go on with.
    if (*admission == Admission::kBegunAnew || jobs_.at(job_id)->failed() ||
        !jobs_.at(job_id)->BeginsAs(call.request) || next_plans_.contains(job_id)) {
      BeginAnew(job_id, std::move(call.request));
    } else {
      jobs_.at(job_id)->Renew(std::move(call.request));
    }
  }
  auto prepared = [call = std::move(call)](const absl::Status& status) mutable {
    call.Acknowledge(status);
  };
  if (next_plans_.contains(job_id)) {
    next_plans_.at(job_id).prepared.push_back(std::move(prepared));
    return EndOldPlan(job_id);
  }
  PrepareSoon(job_id, std::move(prepared));
}

std::shared_ptr<WorkerJob> WorkerDaemon::MakeJob(v1::PrepareJobRequest request,
                                                 std::optional<v1::HeldJob> earlier) {
  return std::make_shared<WorkerJob>(options_, seams_, artifacts_,
                                     keeper_.registration()->worker_id, directory_->path(),
                                     std::move(request), std::move(earlier));
}

void WorkerDaemon::PrepareSoon(const std::string& job_id, WorkerJob::Prepared prepared) {
  // Cleaners remove what lies about for long; a job that begins shall not fail by that.
  LookAtDirectory(
      WhileAlive([this, job = jobs_.at(job_id), prepared = std::move(prepared)]() mutable {
        if (leaving_.empty()) return job->Prepare(std::move(prepared));
        v1::JobError error = MakeJobError(job_error::kWorkDirectoryLost, leaving_);
        error.set_worker(options_.name);
        prepared(StatusFromJobError(absl::StatusCode::kUnavailable, error));
      }));
}

void WorkerDaemon::BeginAnew(const std::string& job_id, v1::PrepareJobRequest request) {
  NextPlan& next = next_plans_[job_id];
  next.request = std::move(request);
  for (WorkerJob::Prepared& prepared : std::exchange(next.prepared, {})) {
    prepared(absl::AbortedError(absl::StrCat("job ", job_id, " was planned once more")));
  }
}

void WorkerDaemon::EndOldPlan(const std::string& job_id) {
  if (std::exchange(next_plans_.at(job_id).clearing, true)) return;
  jobs_.at(job_id)->Release(WhileAlive([this, job_id](const absl::StatusOr<std::string>& tail) {
    OnOldPlanGone(job_id, tail.status());
  }));
}

void WorkerDaemon::OnOldPlanGone(const std::string& job_id, const absl::Status& gone) {
  const auto next = next_plans_.find(job_id);
  // Released for good meanwhile.
  if (next == next_plans_.end()) return;
  next->second.clearing = false;
  std::vector<WorkerJob::Prepared> waiting = std::exchange(next->second.prepared, {});
  if (!gone.ok()) {
    // Asked again, it is tried again.
    for (WorkerJob::Prepared& prepared : waiting) {
      prepared(absl::UnavailableError(
          absl::StrCat("cannot clear away the old plan of job ", job_id, ": ", gone.message())));
    }
    return;
  }
  jobs_.at(job_id) = MakeJob(std::move(next->second.request), std::nullopt);
  next_plans_.erase(next);
  for (WorkerJob::Prepared& prepared : waiting) PrepareSoon(job_id, std::move(prepared));
}

void WorkerDaemon::Handle(rpc::Call<rpc::StartStep> call) {
  const v1::Fence& fence = call.request.fence();
  const int step = call.request.order().step();
  const absl::StatusOr<Admission> admission = table_.TakeStep(fence, step);
  absl::Status started = admission.status();
  if (started.ok() && *admission == Admission::kNew) {
    started = jobs_.at(fence.job_id())->StartStep(call.request);
    if (!started.ok()) table_.ForgetStep(fence, step);
  }
  call.Acknowledge(started);
}

void WorkerDaemon::Handle(rpc::Call<rpc::GrantTransfer> call) {
  const v1::Fence fence = call.request.fence();
  const int transfer = call.request.order().transfer();
  const absl::StatusOr<Admission> admission = table_.TakeTransfer(fence, transfer);
  absl::Status granted = admission.status();
  if (granted.ok() && *admission == Admission::kNew) {
    granted = jobs_.at(fence.job_id())->GrantTransfer(std::move(call.request));
    if (!granted.ok()) table_.ForgetTransfer(fence, transfer);
  }
  call.Acknowledge(granted);
}

void WorkerDaemon::Handle(rpc::Call<rpc::CancelTransfer> call) {
  const v1::Fence& fence = call.request.fence();
  const int transfer = call.request.transfer();
  // Taken from here on: its grant does nothing if it comes yet.
  const absl::StatusOr<Admission> admission = table_.TakeTransfer(fence, transfer);
  if (!admission.ok() || *admission == Admission::kNew) return call.Acknowledge(admission.status());
  WorkerJob& job = *jobs_.at(fence.job_id());
  job.CancelTransfer(transfer, fence.attempt(),
                     [call = std::move(call)](absl::Status cancelled) mutable {
                       call.Acknowledge(std::move(cancelled));
                     });
}

void WorkerDaemon::Handle(rpc::Call<rpc::SetRates> call) {
  const std::string job_id = call.request.fence().job_id();
  if (absl::Status fenced = table_.CheckRates(call.request.fence()); !fenced.ok()) {
    return call.reply(fenced);
  }
  std::vector<transfer::SendRate> rates;
  rates.reserve(static_cast<std::size_t>(call.request.rates_size()));
  for (const v1::TransferRate& rate : call.request.rates()) {
    rates.push_back({rate.transfer(), rate.attempt(), rate.number(), rate.bytes_per_s()});
  }
  seams_.server.SetRates(job_id, std::move(rates),
                         [&loop = seams_.loop,
                          answered = std::make_shared<rpc::Call<rpc::SetRates>>(std::move(call))] {
                           loop.Post([answered] { answered->Acknowledge(absl::OkStatus()); });
                         });
}

void WorkerDaemon::Handle(rpc::Call<rpc::Identify> call) {
  v1::IdentifyResponse response;
  response.set_name(options_.name);
  response.set_incarnation(incarnation_);
  call.reply(std::move(response));
}

void WorkerDaemon::Handle(rpc::Call<rpc::Probe> call) {
  const v1::Fence& fence = call.request.fence();
  if (absl::Status fenced = table_.CheckProbe(fence); !fenced.ok()) return call.reply(fenced);
  if (!jobs_.empty()) {
    return call.reply(absl::FailedPreconditionError(
        absl::StrCat("worker ", options_.name, " holds job ", jobs_.begin()->first,
                     ": what a probe measured now would be neither the network's nor the job's")));
  }
  prober_.Take(std::move(call.request), directory_->path(), std::move(call.reply));
}

void WorkerDaemon::Handle(rpc::Call<rpc::ReleaseJob> call) {
  const std::string job_id = call.request.fence().job_id();
  const absl::StatusOr<Admission> admission = table_.BeginRelease(call.request.fence());
  if (absl::IsNotFound(admission.status())) {
    v1::ReleaseJobResponse response;
    response.set_task_output_tail(table_.ReleasedOutput(job_id).value_or(""));
    return call.reply(std::move(response));
  }
  if (!admission.ok()) return call.reply(admission.status());
  Release(job_id, [reply = std::move(call.reply)](const absl::StatusOr<std::string>& tail) mutable {
    if (!tail.ok()) return reply(tail.status());
    v1::ReleaseJobResponse response;
    response.set_task_output_tail(*tail);
    reply(std::move(response));
  });
}

void WorkerDaemon::Release(const std::string& job_id, WorkerJob::Released released) {
  table_.MarkReleasing(job_id);
  if (auto next = next_plans_.extract(job_id); !next.empty()) {
    for (WorkerJob::Prepared& prepared : next.mapped().prepared) {
      prepared(absl::AbortedError(absl::StrCat("job ", job_id, " was released")));
    }
  }
  jobs_.at(job_id)->Release(WhileAlive(
      [this, job_id, released = std::move(released)](absl::StatusOr<std::string> tail) mutable {
        // Once, however often it was asked for.
        if (tail.ok() && jobs_.erase(job_id) > 0) {
          LogInfo("Job released", {{"job", job_id}, {"worker", options_.name}});
          table_.EndRelease(job_id, *tail);
          artifacts_.LetGo(job_id, seams_.loop.Now());
        }
        released(std::move(tail));
        OnJobGone();
      }));
}

void WorkerDaemon::OnJobGone() {
  if (!jobs_.empty()) return;
  if (drained_) std::exchange(drained_, nullptr)();
  if (state_ == State::kStopping && !leave_under_way_ && !looking_ && dropping_ == 0) {
    RemoveDirectory();
  }
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
