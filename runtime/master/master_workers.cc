// Handlers of Master for workers: registration, heartbeats, reports, leases.

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/master/master_impl.h"
#include "runtime/master/workers/check_messages.h"

namespace weir::master {

void Master::Impl::Handle(rpc::Call<rpc::Register> call) {
  // A master that stops hears its workers, and takes no new ones.
  if (absl::Status serving = Serving(); !serving.ok()) return call.reply(serving);
  if (absl::Status sound = Check(call.request); !sound.ok()) return call.reply(sound);
  absl::StatusOr<WorkerTable::Registration> registration =
      workers_->Register(call.request, seams_.loop.Now());
  if (!registration.ok()) return call.reply(registration.status());
  const RegisteredWorker& worker = registration->worker;
  LogInfo("Worker registered", {{"worker", worker.identity.name()},
                                {"id", worker.id},
                                {"epoch", worker.epoch},
                                {"endpoint", worker.identity.control_endpoint()}});
  if (registration->replaced_epoch != 0) {
    if (JobRun* run = FindRun(active_)) {
      run->WorkerLost(worker.id, registration->replaced_epoch,
                      "was restarted or lost touch and registered again");
    }
  }
  ScheduleWatch();
  v1::RegisterResponse response;
  response.set_worker_id(worker.id);
  response.set_worker_epoch(worker.epoch);
  response.set_master_epoch(context_->master_epoch);
  response.set_lease_ms(absl::ToInt64Milliseconds(limits::kWorkerLease));
  response.set_heartbeat_ms(absl::ToInt64Milliseconds(limits::kHeartbeat));
  call.reply(std::move(response));
}

void Master::Impl::Handle(rpc::Call<rpc::Heartbeat> call) {
  const v1::HeartbeatRequest& request = call.request;
  if (absl::Status sound = Check(request); !sound.ok()) return call.reply(sound);
  if (request.master_epoch() != context_->master_epoch) {
    return call.reply(absl::AbortedError(absl::StrCat("master epoch ", request.master_epoch(),
                                                      " is over, now ", context_->master_epoch,
                                                      "; drop all attempts and register again")));
  }
  absl::Status renewed = workers_->Heartbeat(request, seams_.loop.Now());
  if (!renewed.ok()) return call.reply(renewed);
  for (const v1::StepProgress& progress : request.progress()) {
    if (JobRun* run = FindRun(progress.job_id())) run->TakeProgress(request.worker_id(), progress);
  }
  v1::HeartbeatResponse response;
  for (const std::string& job_id : request.held_jobs()) {
    // A job that is ending is released by its own call.
    if (FindRun(job_id) == nullptr && FindSample(job_id) == nullptr)
      response.add_release_jobs(job_id);
  }
  call.reply(std::move(response));
}

absl::Status TakeSampleReport(SampleRun& sample, const v1::ReportStepRequest& report) {
  return sample.TakeReport(report);
}

absl::Status TakeSampleReport(SampleRun& /*sample*/, const v1::ReportTransferRequest& /*report*/) {
  return absl::AbortedError("a sample moves nothing");
}

template <typename Report>
absl::Status Master::Impl::TakeReport(const Report& report) {
  const v1::Fence& fence = report.fence();
  if (fence.master_epoch() != context_->master_epoch) {
    return absl::AbortedError(absl::StrCat("report under master epoch ", fence.master_epoch(),
                                           ", now ", context_->master_epoch));
  }
  absl::Status held = workers_->CheckLease(report.worker_id(), fence.worker_epoch());
  if (!held.ok()) return absl::AbortedError(held.message());
  if (SampleRun* sample = FindSample(fence.job_id())) {
    if (absl::Status sound = Check(report); !sound.ok()) return sound;
    return TakeSampleReport(*sample, report);
  }
  JobRun* run = FindRun(fence.job_id());
  if (run == nullptr) {
    return absl::AbortedError(
        absl::StrCat("no unfinished job '", fence.job_id().substr(0, 100), "'; drop its work"));
  }
  if (absl::Status sound = Check(report); !sound.ok()) {
    // The sender is one of ours and would wait for ever for an answer that makes sense to it.
    run->Fail(MakeJobError(job_error::kInternal,
                           absl::StrCat("worker ", report.worker_id(),
                                        " sent a report that makes no sense: ", sound.message()),
                           "check that master and workers have the same version"));
    return sound;
  }
  return run->TakeReport(report);
}

void Master::Impl::Handle(rpc::Call<rpc::ReportStep> call) {
  call.Acknowledge(TakeReport(call.request));
}

void Master::Impl::Handle(rpc::Call<rpc::ReportTransfer> call) {
  call.Acknowledge(TakeReport(call.request));
}

void Master::Impl::ScheduleWatch() {
  const std::optional<MonoTime> next = workers_->NextWake();
  if (watch_scheduled_ || !next) return;
  watch_scheduled_ = true;
  seams_.loop.RunAt(*next, callbacks_.Guard([this] {
    watch_scheduled_ = false;
    for (const RegisteredWorker& worker : workers_->TakeLost(seams_.loop.Now())) {
      Lose(worker, absl::StrCat("no heartbeat for ", absl::FormatDuration(limits::kWorkerLease)));
    }
    AskAfterSilent();
    ScheduleWatch();
  }));
}

void Master::Impl::AskAfterSilent() {
  for (const auto& [silent, endpoint] : workers_->TakeSilent(seams_.loop.Now())) {
    seams_.connector.AskIfGone(
        endpoint, limits::kHeartbeatOverdue,
        callbacks_.Guard([this, silent = silent, endpoint = endpoint](bool gone) {
          if (!gone) return;
          if (const std::optional<RegisteredWorker> worker = workers_->TakeGone(silent)) {
            Lose(*worker, absl::StrCat("nobody listens at ", endpoint, " any more"));
          }
        }));
  }
}

void Master::Impl::Lose(const RegisteredWorker& worker, const std::string& why) {
  LogWarning("Worker lost",
             {{"worker", worker.identity.name()}, {"epoch", worker.epoch}, {"why", why}});
  for (const auto& [id, planning] : dry_runs_) {
    if (SampleRun* sample = planning->sample()) sample->WorkerLost(worker.id, worker.epoch);
  }
  if (JobRun* run = FindRun(active_)) {
    run->WorkerLost(worker.id, worker.epoch, absl::StrCat("was lost: ", why));
  }
}

}  // namespace weir::master
