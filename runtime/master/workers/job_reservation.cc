#include "runtime/master/workers/job_reservation.h"

#include <memory>
#include <utility>

#include "runtime/base/log.h"
#include "runtime/master/workers/call_error.h"
#include "runtime/master/workers/call_retry.h"

namespace weir::master {
namespace {

// A task that does not start is reported after limits::kTaskStart (7 s); asking again meanwhile
// does no harm.
constexpr CallBudget kPrepareBudget{absl::Seconds(4), absl::Seconds(8)};

}  // namespace

v1::Fence JobReservation::FenceFor(const RegisteredWorker& worker) const {
  v1::Fence fence = request_.fence();
  fence.set_worker_epoch(worker.epoch);
  return fence;
}

void JobReservation::Prepare(std::vector<RegisteredWorker> workers, v1::PrepareJobRequest request,
                             absl::AnyInvocable<void()> prepared,
                             absl::AnyInvocable<void(v1::JobError)> failed) {
  workers_ = std::move(workers);
  request_ = std::move(request);
  prepared_ = std::move(prepared);
  failed_ = std::move(failed);
  for (const RegisteredWorker& worker : workers_) holding_.insert(worker.id);
  preparing_ = holding_.size();
  if (preparing_ == 0) return prepared_();
  for (const RegisteredWorker& worker : workers_) PrepareOn(worker);
}

void JobReservation::PrepareOn(const RegisteredWorker& worker) {
  auto request = std::make_shared<v1::PrepareJobRequest>(request_);
  *request->mutable_fence() = FenceFor(worker);
  auto attempt = [this, request, api = worker.api](
                     absl::Duration timeout,
                     absl::AnyInvocable<void(absl::Status)> answered) mutable {
    if (stopped_) return;
    api->PrepareJob(*request, timeout,
                    [answered = std::move(answered)](const auto& response) mutable {
                      answered(response.status());
                    });
  };
  auto done = [this, &worker](const absl::Status& status) {
    if (stopped_) return;
    if (!status.ok()) return failed_(ErrorOfCall(worker, "the preparation of the job", status));
    if (--preparing_ == 0) prepared_();
  };
  CallWithRetry(loop_, random_, kPrepareBudget, callbacks_.Guard(std::move(attempt)),
                callbacks_.Guard(std::move(done)));
}

void JobReservation::Release(absl::Duration budget, absl::AnyInvocable<void()> released) {
  stopped_ = true;
  releasing_ = holding_;
  if (releasing_.empty()) return released();
  released_ = std::move(released);
  loop_.RunAt(loop_.Now() + budget, callbacks_.Guard([this] {
    if (releasing_.empty()) return;
    LogWarning("Workers did not confirm that they released a job; their heartbeats will tell them",
               {{"job", request_.fence().job_id()}, {"workers", releasing_.size()}});
    releasing_.clear();
    released_();
  }));
  for (const RegisteredWorker& worker : workers_) {
    if (holding_.contains(worker.id)) ReleaseOn(worker, budget);
  }
}

void JobReservation::ReleaseOn(const RegisteredWorker& worker, absl::Duration budget) {
  auto request = std::make_shared<v1::ReleaseJobRequest>();
  *request->mutable_fence() = FenceFor(worker);
  auto keep_log = [this, name = worker.identity.name()](
                      const absl::StatusOr<v1::ReleaseJobResponse>& response) {
    if (!response.ok() || response->task_output_tail().empty()) return;
    v1::WorkerLog& log = logs_.emplace_back();
    log.set_worker(name);
    log.set_output_tail(response->task_output_tail());
  };
  auto attempt = [this, request, api = worker.api, keep_log](
                     absl::Duration timeout,
                     absl::AnyInvocable<void(absl::Status)> answered) mutable {
    api->ReleaseJob(
        *request, timeout,
        callbacks_.Guard([keep_log, answered = std::move(answered)](const auto& response) mutable {
          keep_log(response);
          answered(response.status());
        }));
  };
  auto done = [this, id = worker.id](const absl::Status& status) {
    // Aborted or unknown there: it holds nothing of this job any more.
    if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) ReleaseAnswered(id);
  };
  CallWithRetry(loop_, random_, CallBudget{budget, budget}, callbacks_.Guard(std::move(attempt)),
                callbacks_.Guard(std::move(done)));
}

void JobReservation::ReleaseAnswered(WorkerId worker) {
  holding_.erase(worker);
  if (releasing_.erase(worker) > 0 && releasing_.empty()) released_();
}

bool JobReservation::WorkerLost(WorkerId worker) {
  const bool awaited = releasing_.contains(worker);
  ReleaseAnswered(worker);
  return awaited;
}

}  // namespace weir::master
