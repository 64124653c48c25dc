// Handlers of Master for workers: registration, heartbeats, reports, leases.

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/base/standstill.h"
#include "runtime/master/master_impl.h"
#include "runtime/master/workers/call_back.h"
#include "runtime/rpc/wire_version.h"

namespace weir::master {
namespace {

// Far more names than a cluster has workers; nothing is lost where they are told once more.
constexpr std::size_t kUnreachedMax = 4096;

}  // namespace

void Master::Impl::Handle(rpc::Call<rpc::Register> call) {
  // A master that stops hears its workers, and takes no new ones.
  if (absl::Status serving = Serving(); !serving.ok()) return call.reply(serving);
  absl::Status understood = rpc::CheckWireVersion(call.request.wire_version(),
                                                  call.request.wire_version_oldest(), "worker");
  if (!understood.ok()) {
    LogWarning("Worker refused", {{"worker", call.request.identity().name()},
                                  {"version", call.request.identity().version()},
                                  {"why", understood.message()}});
    return call.reply(understood);
  }
  CallBack(std::move(call));
}

void Master::Impl::CallBack(rpc::Call<rpc::Register> call) {
  const std::string endpoint = call.request.identity().control_endpoint();
  seams_.connector.AskWho(
      endpoint, callbacks_.Guard([this, call = std::move(call)](
                                     const absl::StatusOr<v1::IdentifyResponse>& answer) mutable {
        const std::string name = call.request.identity().name();
        absl::Status reached = CheckCallBack(call.request, answer);
        if (reached.ok()) {
          unreached_.erase(name);
          return Register(std::move(call), /*ask_holder=*/true);
        }
        // Once for each reason: it tries for as long as it lives.
        if (unreached_.size() >= kUnreachedMax) unreached_.clear();
        std::string& told = unreached_[name];
        if (told != reached.message()) {
          told = std::string(reached.message());
          LogWarning("Worker refused", {{"worker", name}, {"why", told}});
        }
        call.reply(reached);
      }));
}

void Master::Impl::Register(rpc::Call<rpc::Register> call, bool ask_holder) {
  // It may have begun to stop while the worker was called back, or the holder of its name asked.
  if (absl::Status serving = Serving(); !serving.ok()) return call.reply(serving);
  const bool first = !workers_->AnyAlive();
  absl::StatusOr<WorkerTable::Registration> registration =
      workers_->Register(call.request, seams_.loop.Now(), seams_.wall_clock.UnixMillis());
  if (absl::IsAlreadyExists(registration.status()) && ask_holder) {
    // The newcomer may be the successor of a daemon that was killed: then its plans are edited for
    // the loss of the one and the return of the other at once.
    const auto [holder, endpoint] =
        workers_->TakeHolder(call.request.identity().name(), seams_.loop.Now());
    return AskAfter(holder, endpoint, [this, call = std::move(call)]() mutable {
      Register(std::move(call), /*ask_holder=*/false);
    });
  }
  if (!registration.ok()) return call.reply(registration.status());
  const RegisteredWorker& worker = registration->worker;
  processes_.Follow(worker.id, worker.epoch, worker.identity.control_endpoint());
  LogInfo("Worker registered", {{"worker", worker.identity.name()},
                                {"id", worker.id},
                                {"epoch", worker.epoch},
                                {"endpoint", worker.identity.control_endpoint()}});
  if (worker.lease > limits::kWorkerLease) {
    LogWarning(
        "A worker lost touch though its process lives; its lease is longer from now on",
        {{"worker", worker.identity.name()}, {"lease_s", absl::ToDoubleSeconds(worker.lease)}});
  }
  if (registration->replaced_epoch != 0) {
    TellLoss(worker.id, registration->replaced_epoch,
             "was restarted or lost touch and registered again", Loss::kMayBeBack);
  }
  return_times_.Back(worker.identity.name(), seams_.loop.Now());
  if (first && queue_.anyone_waits()) AwaitWorkers();
  for (const auto& [id, run] : runs_) run->WorkerJoined();
  ScheduleWatch();
  v1::RegisterResponse response;
  response.set_worker_id(worker.id);
  response.set_worker_epoch(worker.epoch);
  response.set_master_epoch(context_->master_epoch);
  response.set_lease_ms(absl::ToInt64Milliseconds(worker.lease));
  response.set_heartbeat_ms(absl::ToInt64Milliseconds(limits::kHeartbeat));
  call.reply(std::move(response));
}

void Master::Impl::AwaitWorkers() {
  queue_held_until_ = seams_.loop.Now() + limits::kWorkersReturn;
  seams_.loop.RunAt(queue_held_until_, callbacks_.Guard([this] { BeginJobs(); }));
}

void Master::Impl::Handle(rpc::Call<rpc::Heartbeat> call) {
  const v1::HeartbeatRequest& request = call.request;
  if (request.master_epoch() != context_->master_epoch) {
    return call.reply(absl::AbortedError(absl::StrCat("master epoch ", request.master_epoch(),
                                                      " is over, now ", context_->master_epoch,
                                                      "; drop all attempts and register again")));
  }
  if (!request.leaving().empty()) return call.reply(TakeLeave(request));
  absl::Status renewed = workers_->Heartbeat(request, seams_.loop.Now());
  if (!renewed.ok()) return call.reply(renewed);
  if (request.draining()) BeginDrain(request.worker_id(), request.worker_epoch());
  for (const v1::StepProgress& progress : request.progress()) {
    if (ConductorRun* conductor = FindConductor(progress.job_id())) {
      conductor->TakeProgress(request.worker_id(), progress);
    }
  }
  v1::HeartbeatResponse response;
  for (const std::string& job_id : request.held_jobs()) {
    // A job that is ending is released by its own call. A master that stops has let go of jobs that
    // the next one goes on with.
    const bool known = FindRun(job_id) != nullptr || FindSample(job_id) != nullptr ||
                       FindUnsettled(job_id) != nullptr;  // it may go on from these runs
    if (!known && life_ == Life::kServing) response.add_release_jobs(job_id);
  }
  call.reply(std::move(response));
}

void Master::Impl::BeginDrain(WorkerId worker, Epoch epoch) {
  if (!workers_->BeginDrain(worker)) return;
  LogInfo("Worker drains; no job is planned for it any more", {{"id", worker}, {"epoch", epoch}});
  for (const auto& [id, run] : runs_) run->WorkerDrains(worker, epoch);
}

absl::StatusOr<v1::HeartbeatResponse> Master::Impl::TakeLeave(const v1::HeartbeatRequest& request) {
  const absl::StatusOr<RegisteredWorker> worker = workers_->Leave(request, seams_.loop.Now());
  if (!worker.ok()) return worker.status();
  processes_.Forget(worker->id);
  LogInfo(
      "Worker left",
      {{"worker", worker->identity.name()}, {"epoch", worker->epoch}, {"why", request.leaving()}});
  TellLoss(worker->id, worker->epoch, absl::StrCat("left: ", request.leaving()), Loss::kForGood);
  return v1::HeartbeatResponse();
}

namespace {

absl::Status TakeSampleReport(SampleRun& sample, const v1::ReportStepRequest& report) {
  return sample.TakeReport(report);
}

absl::Status TakeSampleReport(SampleRun& /*sample*/, const v1::ReportTransferRequest& /*report*/) {
  return absl::AbortedError("a sample moves nothing");
}

}  // namespace

absl::Status Master::Impl::CheckSender(const v1::Fence& fence, WorkerId worker) const {
  if (fence.master_epoch() != context_->master_epoch) {
    return absl::AbortedError(absl::StrCat("report under master epoch ", fence.master_epoch(),
                                           ", now ", context_->master_epoch));
  }
  absl::Status held = workers_->CheckLease(worker, fence.worker_epoch());
  return held.ok() ? held : absl::AbortedError(held.message());
}

template <typename Report>
absl::Status Master::Impl::TakeReport(const Report& report) {
  // It may be heard before the watch is, and say that a transfer has failed for too long.
  NoteStandstill();
  const v1::Fence& fence = report.fence();
  absl::Status current = CheckSender(fence, report.worker_id());
  if (!current.ok()) return current;
  if (SampleRun* sample = FindSample(fence.job_id())) return TakeSampleReport(*sample, report);
  if (ConductorRun* conductor = FindConductor(fence.job_id())) return conductor->TakeReport(report);
  return absl::AbortedError(
      absl::StrCat("no job '", fence.job_id().substr(0, 100), "' that runs; drop its work"));
}

void Master::Impl::Handle(rpc::Call<rpc::ReportStep> call) {
  call.Acknowledge(TakeReport(call.request));
}

void Master::Impl::Handle(rpc::Call<rpc::ReportTransfer> call) {
  call.Acknowledge(TakeReport(call.request));
}

void Master::Impl::Malformed(rpc::ReportStep, const v1::ReportStepRequest& report,
                             const absl::Status& why) {
  TakeNonsense(report.fence(), report.worker_id(), why);
}

void Master::Impl::Malformed(rpc::ReportTransfer, const v1::ReportTransferRequest& report,
                             const absl::Status& why) {
  TakeNonsense(report.fence(), report.worker_id(), why);
}

void Master::Impl::TakeNonsense(const v1::Fence& fence, WorkerId worker, const absl::Status& why) {
  if (!CheckSender(fence, worker).ok()) return;
  // One of ours, whose work would now be waited for for ever.
  if (ConductorRun* conductor = FindConductor(fence.job_id())) {
    conductor->TakeNonsense(fence, worker, std::string(why.message()));
  }
}

void Master::Impl::ScheduleWatch() {
  const std::optional<MonoTime> next = workers_->NextWake();
  if (watch_scheduled_ || !next) return;
  watch_scheduled_ = true;
  watch_due_ = *next;
  seams_.loop.RunAt(*next, callbacks_.Guard([this] {
    NoteStandstill();
    watch_scheduled_ = false;
    for (const RegisteredWorker& worker : workers_->TakeLost(seams_.loop.Now())) {
      Lose(worker, absl::StrCat("no heartbeat for ", absl::FormatDuration(worker.lease)),
           Loss::kForGood);
    }
    AskAfterSilent();
    ScheduleWatch();
  }));
}

// A process that was stopped, or whose machine was, finds all leases at their end, and heartbeats
// of that time were not taken, though all workers live.
void Master::Impl::NoteStandstill() {
  const MonoTime now = seams_.loop.Now();
  const absl::Duration late = now - watch_due_;
  if (!watch_scheduled_ || late < kStandstill) return;
  watch_due_ = now;
  LogWarning("The master stood still; its workers have that much longer to be heard of",
             {{"seconds", absl::ToDoubleSeconds(late)}});
  workers_->StoodStill(late, now);
  for (const auto& [id, run] : runs_) run->StoodStill(late, now);
}

void Master::Impl::AskAfterSilent() {
  for (const auto& [silent, endpoint] : workers_->TakeSilent(seams_.loop.Now())) {
    AskAfter(silent, endpoint, nullptr);
  }
}

void Master::Impl::AskAfter(const SilentWorker& silent, const std::string& endpoint,
                            env::Task asked) {
  seams_.connector.AskIfGone(
      endpoint, limits::kHeartbeatOverdue,
      callbacks_.Guard([this, silent, endpoint, asked = std::move(asked)](bool gone) mutable {
        const std::optional<RegisteredWorker> worker =
            gone ? workers_->TakeGone(silent) : std::nullopt;
        if (worker) {
          Lose(*worker, absl::StrCat("nobody listens at ", endpoint, " any more"),
               Loss::kMayBeBack);
        }
        if (asked) asked();
      }));
}

void Master::Impl::AskAfterCutOff(WorkerId worker, Epoch epoch) {
  if (const auto asked = workers_->TakeCutOff(worker, epoch, seams_.loop.Now())) {
    AskAfter(asked->first, asked->second, nullptr);
  }
}

void Master::Impl::Lose(const RegisteredWorker& worker, const std::string& why, Loss loss) {
  processes_.Forget(worker.id);
  LogWarning("Worker lost",
             {{"worker", worker.identity.name()}, {"epoch", worker.epoch}, {"why", why}});
  TellLoss(worker.id, worker.epoch, absl::StrCat("was lost: ", why), loss);
  if (loss == Loss::kMayBeBack) return_times_.Lost(worker.identity.name(), seams_.loop.Now());
}

void Master::Impl::TellLoss(WorkerId worker, Epoch epoch, const std::string& why, Loss loss) {
  for (const auto& [id, planning] : dry_runs_) {
    if (SampleRun* sample = planning->sample()) sample->WorkerLost(worker, epoch, why);
  }
  for (const auto& [id, run] : runs_) run->WorkerLost(worker, epoch, why, loss);
}

}  // namespace weir::master
