#include "runtime/master/workers/job_reservation.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/master/workers/call_error.h"
#include "runtime/master/workers/call_retry.h"

namespace weir::master {
namespace {

// A task that does not start is reported after limits::kTaskStart (7 s); asking again meanwhile
// does no harm.
constexpr CallBudget kPrepareBudget = CallBudget::Of<rpc::PrepareJob>(absl::Seconds(8));

// A release is asked for again though its answer may only be slow: a task has kTaskKillGrace to
// end, and one call that is lost would cost what the job printed.
constexpr absl::Duration kReleaseTry = absl::Milliseconds(700);

// Artifacts come first, and how long they take is the link's matter; archives are unpacked by the
// task. A worker that is gone is noticed by its lease, whatever is asked of it.
CallBudget BudgetOf(const v1::PrepareJobRequest& request) {
  CallBudget budget = kPrepareBudget;
  if (!request.spec().artifacts().empty())
    budget.total += limits::kArtifactSupplyMax + limits::kUnpackMax;
  return budget;
}

// One that is asked to let go while the job goes on: as long as to prepare.
constexpr absl::Duration kLetGoBudget = absl::Seconds(8);

}  // namespace

void JobReservation::Prepare(std::vector<RegisteredWorker> workers, v1::PrepareJobRequest request,
                             absl::AnyInvocable<void()> prepared,
                             absl::AnyInvocable<void(v1::JobError)> failed) {
  ++preparation_;
  job_id_ = request.fence().job_id();
  // Steps name what they read. A hundred thousand paths, told to a thousand workers and held for
  // each of them until it has answered, fit neither memory nor the call's time.
  request.mutable_spec()->clear_inputs();
  prepared_ = std::move(prepared);
  failed_ = std::move(failed);
  preparing_ = workers.size();
  if (preparing_ == 0) return prepared_();
  for (RegisteredWorker& worker : workers) {
    v1::Fence fence = request.fence();
    fence.set_worker_epoch(worker.epoch);
    const WorkerId id = worker.id;
    reserved_.insert_or_assign(id, Reserved{std::move(worker), std::move(fence)});
    PrepareOn(reserved_.at(id), request, loop_.Now());
  }
}

void JobReservation::PrepareOn(const Reserved& reserved, v1::PrepareJobRequest request,
                               MonoTime since) {
  *request.mutable_fence() = reserved.fence;
  if (HeldOf(reserved.worker, job_id_, request.kept()) == nullptr) request.clear_kept();
  const auto current = [this, number = preparation_] {
    return !stopped_ && preparation_ == number;
  };
  const CallBudget budget = BudgetOf(request);
  auto attempt = [current, request, api = reserved.worker.api](
                     absl::Duration timeout,
                     absl::AnyInvocable<void(absl::Status)> answered) mutable {
    if (!current()) return;
    api->Send<rpc::PrepareJob>(request, timeout,
                               [answered = std::move(answered)](const auto& response) mutable {
                                 answered(response.status());
                               });
  };
  auto done = [this, current, since, budget, asked = loop_.Now(), reserved,
               request](const absl::Status& status) {
    if (!current()) return;
    if (status.ok()) {
      if (--preparing_ == 0) prepared_();
      return;
    }
    const MonoTime counted_from = since + StoodStillInCall(asked, budget, loop_.Now());
    if (LeaseMayTell(status) && loop_.Now() - counted_from < limits::kPeerPatience) {
      loop_.RunAt(loop_.Now() + limits::kPeerPause,
                  callbacks_.Guard([this, current, counted_from, reserved, request] {
                    if (current()) PrepareOn(reserved, request, counted_from);
                  }));
      return;
    }
    failed_(ErrorOfCall(reserved.worker, "the preparation of the job", status));
  };
  CallWithRetry(loop_, random_, budget, callbacks_.Guard(std::move(attempt)),
                callbacks_.Guard(std::move(done)));
}

void JobReservation::Release(absl::Duration budget, absl::AnyInvocable<void()> released) {
  stopped_ = true;
  for (const auto& [id, reserved] : reserved_) releasing_.insert(id);
  if (releasing_.empty()) return released();
  released_ = std::move(released);
  loop_.RunAt(loop_.Now() + budget, callbacks_.Guard([this] {
    if (releasing_.empty()) return;
    LogWarning("Workers did not confirm that they released a job; their heartbeats will tell them",
               {{"job", job_id_}, {"workers", releasing_.size()}});
    releasing_.clear();
    released_();
  }));
  // A copy: an answer may come at once and end a reservation.
  for (const auto& [id, reserved] : absl::btree_map<WorkerId, Reserved>(reserved_)) {
    ReleaseOn(reserved, budget);
  }
}

void JobReservation::LetGo(WorkerId worker) {
  const auto reserved = reserved_.find(worker);
  // A copy: the answer may come at once.
  if (reserved != reserved_.end()) ReleaseOn(Reserved(reserved->second), kLetGoBudget);
}

void JobReservation::ReleaseOn(const Reserved& reserved, absl::Duration budget) {
  const RegisteredWorker& worker = reserved.worker;
  auto request = std::make_shared<v1::ReleaseJobRequest>();
  *request->mutable_fence() = reserved.fence;
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
    api->Send<rpc::ReleaseJob>(
        *request, timeout,
        callbacks_.Guard([keep_log, answered = std::move(answered)](const auto& response) mutable {
          keep_log(response);
          answered(response.status());
        }));
  };
  auto done = [this, worker, plan_epoch = reserved.fence.plan_epoch()](const absl::Status& status) {
    // Aborted or unknown there: it holds nothing of this job any more.
    if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status)) return;
    // Under another registration, or another plan, it may have taken the job anew.
    if (Holds(worker) && reserved_.at(worker.id).fence.plan_epoch() == plan_epoch) {
      ReleaseAnswered(worker.id);
    }
  };
  CallWithRetry(loop_, random_, CallBudget{std::min(kReleaseTry, budget), budget},
                callbacks_.Guard(std::move(attempt)), callbacks_.Guard(std::move(done)));
}

void JobReservation::ReleaseAnswered(WorkerId worker) {
  reserved_.erase(worker);
  if (releasing_.erase(worker) > 0 && releasing_.empty()) released_();
}

bool JobReservation::WorkerLost(WorkerId worker) {
  const bool awaited = releasing_.contains(worker);
  ReleaseAnswered(worker);
  return awaited;
}

}  // namespace weir::master
