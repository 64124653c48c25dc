#include "tests/sim/sim_worker.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "tests/sim/world.h"

namespace weir::sim {
namespace {

constexpr absl::Duration kTaskStart = absl::Milliseconds(20);
constexpr absl::Duration kTaskStop = absl::Milliseconds(10);
constexpr absl::Duration kHandover = absl::Microseconds(50);
constexpr absl::Duration kCallTimeout = absl::Seconds(2);

}  // namespace

SimWorker::SimWorker(World& world, WorkerModel model, std::string incarnation)
    : world_(world),
      model_(std::move(model)),
      incarnation_(std::move(incarnation)),
      loop_(std::make_shared<ProcessLoop>(world.time())),
      master_(world.network().ConnectMaster(loop_)) {}

std::vector<std::string> SimWorker::HeldJobs() const {
  std::vector<std::string> held;
  for (const auto& [id, job] : jobs_) held.push_back(id);
  return held;
}

void SimWorker::RegisterLater() {
  loop_->RunAt(
      loop_->Now() + world_.random().Duration(absl::Milliseconds(100), absl::Milliseconds(600)),
      [this] { Register(); });
}

void SimWorker::Register() {
  registered_ = false;
  const std::int64_t registration = ++registration_;
  v1::RegisterRequest request;
  v1::WorkerIdentity& identity = *request.mutable_identity();
  identity.set_name(model_.name);
  identity.set_control_endpoint(control_endpoint());
  identity.set_data_endpoint(data_endpoint());
  identity.set_handover_domain(model_.handover_domain);
  identity.set_incarnation(incarnation_);
  request.mutable_profile()->set_slots(model_.slots);
  master_->Register(request, kCallTimeout,
                    [this, registration](absl::StatusOr<v1::RegisterResponse> response) {
                      if (registration != registration_) return;
                      if (!response.ok()) return RegisterLater();
                      registered_ = true;
                      worker_id_ = response->worker_id();
                      worker_epoch_ = response->worker_epoch();
                      master_epoch_ = response->master_epoch();
                      heard_ = loop_->Now();
                      world_.trace().worker_epochs.push_back(worker_epoch_);
                      world_.Note(absl::StrCat(model_.name, " registered, epoch ", worker_epoch_));
                      Beat();
                    });
}

void SimWorker::Beat() {
  const std::int64_t registration = registration_;
  v1::HeartbeatRequest request;
  request.set_worker_id(worker_id_);
  request.set_worker_epoch(worker_epoch_);
  request.set_master_epoch(master_epoch_);
  for (const auto& [id, job] : jobs_) request.add_held_jobs(id);
  master_->Heartbeat(
      request, kCallTimeout, [this, registration](absl::StatusOr<v1::HeartbeatResponse> response) {
        if (registration != registration_) return;
        if (response.ok()) {
          heard_ = loop_->Now();
          for (const std::string& job : response->release_jobs()) ReleaseHeld(job);
          return;
        }
        const bool fenced =
            absl::IsNotFound(response.status()) || absl::IsAborted(response.status());
        if (fenced || loop_->Now() - heard_ > limits::kWorkerLease) {
          ReleaseAll();
          Register();
        }
      });
  loop_->RunAt(loop_->Now() + limits::kHeartbeat, [this, registration] {
    if (registration == registration_) Beat();
  });
}

void SimWorker::ReleaseAll() {
  for (const std::string& id : HeldJobs()) ReleaseHeld(id);
}

void SimWorker::ReleaseHeld(const std::string& job_id) {
  const auto it = jobs_.find(job_id);
  if (it == jobs_.end()) return;
  it->second->released = true;
  jobs_.erase(it);
  world_.Note(absl::StrCat(model_.name, " released ", job_id));
}

absl::Status SimWorker::CheckFence(const v1::Fence& fence) const {
  if (registered_ && fence.worker_epoch() == worker_epoch_ &&
      fence.master_epoch() == master_epoch_) {
    return absl::OkStatus();
  }
  return absl::AbortedError(absl::StrCat("stale order at ", model_.name));
}

SimWorker::JobPtr SimWorker::FindJob(const v1::Fence& fence) const {
  const auto it = jobs_.find(fence.job_id());
  return it == jobs_.end() ? nullptr : it->second;
}

void SimWorker::PrepareJob(v1::PrepareJobRequest request, absl::Duration /*timeout*/,
                           rpc::Reply<v1::PrepareJobResponse> reply) {
  absl::Status fence = CheckFence(request.fence());
  if (!fence.ok()) return reply(fence);
  const std::string id = request.fence().job_id();
  if (!request.staging_dir().empty() &&
      !world_.storage().Stat(absl::StrCat(request.staging_dir(), "/.weir-job-", id)).ok()) {
    return reply(StatusFromJobError(
        absl::StatusCode::kFailedPrecondition,
        MakeJobError(job_error::kOutputNotShared, "no marker in the staging directory")));
  }
  JobPtr& job = jobs_[id];
  if (job == nullptr) {
    job = std::make_shared<Job>();
    job->spec = request.spec();
    world_.Note(absl::StrCat(model_.name, " holds ", id));
  }
  job->fence = request.fence();
  loop_->RunAt(loop_->Now() + kTaskStart, [job, reply = std::move(reply)]() mutable {
    if (job->released) return reply(absl::AbortedError("released meanwhile"));
    reply(v1::PrepareJobResponse());
  });
}

absl::Status SimWorker::CheckInputs(const Job& job, const v1::StepOrder& order) const {
  for (const v1::StepInput& input : order.inputs()) {
    if (input.place() == v1::SECTION_PLACE_OWN_RUN) {
      if (!job.runs.contains(input.run_id())) return absl::NotFoundError("own run missing");
    } else if (input.place() == v1::SECTION_PLACE_HANDED_OVER) {
      if (!job.handed_over.contains(input.run_id())) return absl::NotFoundError("run not linked");
    } else {
      const auto it = job.received.find({input.run_id(), input.offset()});
      std::vector<Piece> pieces = it == job.received.end() ? std::vector<Piece>() : it->second;
      std::sort(pieces.begin(), pieces.end(),
                [](const Piece& a, const Piece& b) { return a.offset < b.offset; });
      std::int64_t covered = input.offset();
      for (const Piece& piece : pieces) {
        if (piece.offset != covered) return absl::DataLossError("pieces overlap or leave a gap");
        covered += piece.bytes;
      }
      if (covered != input.offset() + input.bytes()) return absl::DataLossError("bytes missing");
    }
  }
  return absl::OkStatus();
}

void SimWorker::DropReadRuns(Job& job, const v1::StepOrder& order) {
  for (const std::string& run_id : order.unread_runs()) {
    job.runs.erase(run_id);
    job.handed_over.erase(run_id);
    std::erase_if(job.received, [&](const auto& section) { return section.first.first == run_id; });
  }
}

double SimWorker::StepSeconds(const v1::StepOrder& order, std::int64_t input_bytes) const {
  const double rate = order.kind() == v1::STEP_KIND_MAP     ? model_.map_seconds_per_byte
                      : order.kind() == v1::STEP_KIND_WRITE ? model_.store_seconds_per_byte
                                                            : model_.reduce_seconds_per_byte;
  return static_cast<double>(input_bytes) * rate / model_.slots * model_.slowness;
}

void SimWorker::StartStep(v1::StartStepRequest request, absl::Duration /*timeout*/,
                          rpc::Reply<v1::StartStepResponse> reply) {
  absl::Status fence = CheckFence(request.fence());
  if (!fence.ok()) return reply(fence);
  JobPtr job = FindJob(request.fence());
  if (job == nullptr) return reply(absl::AbortedError("job not held"));
  const v1::StepOrder& order = request.order();
  reply(v1::StartStepResponse());
  if (!job->steps.emplace(order.step(), false).second) return;
  if (job->step_running) world_.Wrong(absl::StrCat("two steps at once on ", model_.name));
  if (absl::Status inputs = CheckInputs(*job, order); !inputs.ok()) {
    world_.Wrong(absl::StrCat("step ", order.step(), " of ", request.fence().job_id(),
                              " started without its inputs: ", inputs.ToString()));
  }
  DropReadRuns(*job, order);
  std::int64_t input_bytes = 0;
  for (const v1::InputRange& range : order.ranges()) input_bytes += range.end() - range.begin();
  for (const v1::StepInput& input : order.inputs()) input_bytes += input.bytes();
  job->step_running = true;
  world_.Note(absl::StrCat(model_.name, " step ", order.step(), " of ", request.fence().job_id()));
  const auto takes = absl::Seconds(StepSeconds(order, input_bytes));
  if (order.kind() == v1::STEP_KIND_WRITE) {
    world_.trace().writes.push_back({request.fence().job_id(), loop_->Now(), loop_->Now() + takes});
  }
  loop_->RunAt(loop_->Now() + takes, [this, job, fence = request.fence(), order, input_bytes] {
    if (!job->released) FinishStep(job, fence, order, input_bytes);
  });
}

void SimWorker::FinishStep(const JobPtr& job, const v1::Fence& fence, const v1::StepOrder& order,
                           std::int64_t input_bytes) {
  job->step_running = false;
  job->steps[order.step()] = true;
  v1::ReportStepRequest request;
  *request.mutable_fence() = fence;
  request.set_worker_id(worker_id_);
  v1::StepResult& result = *request.mutable_result();
  result.set_step(order.step());
  result.set_input_bytes(input_bytes);
  const bool map = order.kind() == v1::STEP_KIND_MAP;
  const double ratio = map                                   ? model_.map_output_ratio
                       : order.kind() == v1::STEP_KIND_WRITE ? 1
                                                             : model_.output_ratio;
  const auto output_bytes =
      static_cast<std::int64_t>(std::llround(static_cast<double>(input_bytes) * ratio));
  const std::string run_id = absl::StrCat(order.step(), ".", fence.attempt());
  absl::Status written =
      faults_.disk_full ? absl::ResourceExhaustedError("disk full (simulated)") : absl::OkStatus();
  if (written.ok() && !order.part_path().empty()) {
    // A part of a sample stays with the worker.
    if (order.part_path().front() == '/')
      written = world_.storage().WriteSized(order.part_path(), output_bytes);
    result.mutable_part()->set_file(order.part_path());
    result.mutable_part()->set_bytes(output_bytes);
    result.mutable_part()->set_xxh3_64("0123456789abcdef");
  } else {
    v1::RunInfo& run = *result.mutable_run();
    run.set_run_id(run_id);
    run.set_path(absl::StrCat("/runs/", model_.name, "/", run_id));
    std::int64_t begin = 0;
    for (const v1::StepConsumer& consumer : order.consumers()) {
      // Text is one section for its only consumer.
      const double key_end = order.text() ? 1 : consumer.keys().end();
      const auto end =
          static_cast<std::int64_t>(std::llround(key_end * static_cast<double>(output_bytes)));
      v1::RunSection& section = *run.add_sections();
      section.set_consumer_step(consumer.step());
      section.set_offset(run.bytes());
      // One block header, as a real section has.
      section.set_bytes(end > begin ? end - begin + 32 : 0);
      section.set_records(end - begin);
      run.set_bytes(run.bytes() + section.bytes());
      begin = end;
    }
    job->runs[run_id] = run;
  }
  if (map) {
    v1::Counter& counter = *result.add_counters();
    counter.set_name("input_bytes");
    counter.set_value(input_bytes);
  }
  if (faults_.task_crashes) {
    *result.mutable_error() =
        MakeJobError(job_error::kTaskCrashed, "the task was ended by signal SIGSEGV");
    result.mutable_error()->set_stderr_tail("last words of the task\n");
  } else if (!written.ok()) {
    *result.mutable_error() = MakeJobError(job_error::kDiskFull, "no space left (simulated)");
  }
  world_.Note(absl::StrCat(model_.name, " did step ", order.step(), " of ", fence.job_id()));
  Report(job, std::move(request), &rpc::ClusterApi::ReportStep);
}

template <typename Request, typename Response>
void SimWorker::Report(JobPtr job, Request request,
                       void (rpc::ClusterApi::*method)(Request, absl::Duration,
                                                       rpc::Reply<Response>)) {
  if (job->released) return;
  Request copy = request;
  (master_.get()->*method)(
      std::move(copy), kCallTimeout,
      [this, job, request = std::move(request), method](const absl::StatusOr<Response>& response) {
        const bool again =
            absl::IsUnavailable(response.status()) || absl::IsDeadlineExceeded(response.status());
        if (!again) return;
        loop_->RunAt(loop_->Now() + absl::Milliseconds(100), [this, job, request, method] {
          Report<Request, Response>(job, request, method);
        });
      });
}

void SimWorker::GrantTransfer(v1::GrantTransferRequest request, absl::Duration /*timeout*/,
                              rpc::Reply<v1::GrantTransferResponse> reply) {
  absl::Status fence = CheckFence(request.fence());
  if (!fence.ok()) return reply(fence);
  JobPtr job = FindJob(request.fence());
  if (job == nullptr) return reply(absl::AbortedError("job not held"));
  reply(v1::GrantTransferResponse());
  auto fetch = std::make_shared<Fetch>();
  fetch->grant = request.order();
  fetch->fence = request.fence();
  if (!job->fetches.emplace(fetch->grant.transfer(), fetch).second) return;
  if (fetch->grant.concurrent()) return BeginFetch(job, fetch);
  // A real worker lets the second one wait; the master must not rely on it.
  if (job->fetching && !job->granted_ahead) {
    world_.Wrong(absl::StrCat("two grants at once for ", model_.name));
  }
  job->fetch_queue.push_back(std::move(fetch));
  NextFetch(job);
}

void SimWorker::NextFetch(const JobPtr& job) {
  if (job->fetching || job->fetch_queue.empty()) return;
  std::shared_ptr<Fetch> fetch = job->fetch_queue.front();
  job->fetch_queue.pop_front();
  job->fetching = true;
  job->granted_ahead = false;
  TakeTurn(job, fetch);
}

void SimWorker::TakeTurn(const JobPtr& job, const std::shared_ptr<Fetch>& fetch) {
  if (job->released || fetch->over) return;
  SimWorker* sender = world_.FindWorker(fetch->grant.source_worker());
  if (sender == nullptr || fetch->grant.handover() || sender->sends_until_ <= loop_->Now()) {
    return BeginFetch(job, fetch);
  }
  // As a real sender does with a request that was granted in the tail of another send.
  loop_->RunAt(sender->sends_until_, [this, job, fetch] { TakeTurn(job, fetch); });
}

bool SimWorker::HoldsRun(const std::string& job_id, const std::string& run_id,
                         std::int64_t end) const {
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end()) return false;
  const auto run = job->second->runs.find(run_id);
  return run != job->second->runs.end() && end <= run->second.bytes();
}

void SimWorker::BeginFetch(const JobPtr& job, const std::shared_ptr<Fetch>& fetch) {
  const v1::TransferGrant& grant = fetch->grant;
  fetch->began = loop_->Now();
  world_.Note(absl::StrCat(model_.name, " fetches transfer ", grant.transfer(), " of ",
                           fetch->fence.job_id(), " from ", grant.source_worker()));
  SimWorker* sender = world_.FindWorker(grant.source_worker());
  double seconds_per_byte = model_.channel_seconds_per_byte * model_.slowness;
  if (grant.pacing_bytes_per_s() > 0) {
    seconds_per_byte =
        std::max(seconds_per_byte, 1 / static_cast<double>(grant.pacing_bytes_per_s()));
  }
  const auto seconds = [seconds_per_byte](std::int64_t bytes) {
    return absl::Seconds(static_cast<double>(bytes) * seconds_per_byte);
  };
  const absl::Duration takes = grant.handover() ? kHandover : seconds(grant.bytes());
  auto later = [this, job, fetch](absl::Duration delay, auto action) {
    loop_->RunAt(loop_->Now() + delay, [job, fetch, action] {
      if (!job->released && !fetch->over) action();
    });
  };
  if (sender == nullptr || !sender->loop()->alive()) {
    return later(absl::Milliseconds(1),
                 [this, job, fetch] { FailFetch(job, fetch, "connection refused"); });
  }
  if (!grant.handover() && sender->loop()->hung()) {
    return later(limits::kTransferSilence,
                 [this, job, fetch, takes, sender_loop = sender->loop(), later] {
                   if (sender_loop->hung()) return FailFetch(job, fetch, "no bytes came");
                   later(takes, [this, job, fetch] { EndFetch(job, fetch); });
                 });
  }
  if (!sender->HoldsRun(fetch->fence.job_id(), grant.run_id(), grant.offset() + grant.bytes())) {
    return later(absl::Milliseconds(1),
                 [this, job, fetch] { FailFetch(job, fetch, "the sender does not hold the run"); });
  }
  if (!grant.handover() && !grant.concurrent()) {
    sender->sends_until_ = loop_->Now() + seconds(grant.bytes() - grant.look_ahead_bytes());
  }
  if (grant.grant_ahead_bytes() > 0) {
    later(seconds(grant.bytes() - grant.grant_ahead_bytes()),
          [this, job, fetch] { ReportNearlyDone(job, fetch); });
  }
  if (grant.look_ahead_bytes() > 0) {
    later(seconds(grant.bytes() - grant.look_ahead_bytes()),
          [this, job, fetch] { ReleasePorts(job, fetch); });
  }
  later(takes, [this, job, fetch] { EndFetch(job, fetch); });
}

void SimWorker::ReportNearlyDone(const JobPtr& job, const std::shared_ptr<Fetch>& fetch) {
  fetch->reported = loop_->Now();
  job->granted_ahead = true;
  v1::ReportTransferRequest request;
  *request.mutable_fence() = fetch->fence;
  request.set_worker_id(worker_id_);
  request.mutable_report()->set_transfer(fetch->grant.transfer());
  request.mutable_report()->set_nearly_done(true);
  request.mutable_report()->set_bytes_left(fetch->grant.grant_ahead_bytes());
  Report(job, std::move(request), &rpc::ClusterApi::ReportTransfer);
}

void SimWorker::ReleasePorts(const JobPtr& job, const std::shared_ptr<Fetch>& fetch) {
  fetch->released = loop_->Now();
  job->fetching = false;
  NextFetch(job);
}

void SimWorker::SenderLost(const std::string& sender, absl::Duration noticed_after) {
  for (const auto& [id, job] : jobs_) {
    for (const auto& [index, fetch] : job->fetches) {
      if (fetch->over || fetch->grant.source_worker() != sender || fetch->grant.handover())
        continue;
      loop_->RunAt(loop_->Now() + noticed_after, [this, job = job, fetch = fetch, sender] {
        if (!job->released && !fetch->over) FailFetch(job, fetch, "the connection broke");
      });
    }
  }
}

void SimWorker::EndFetch(const JobPtr& job, const std::shared_ptr<Fetch>& fetch) {
  const v1::TransferGrant& grant = fetch->grant;
  fetch->over = true;
  if (!grant.handover()) {
    world_.trace().moves.push_back({fetch->fence.job_id(), grant.source_worker(), model_.name,
                                    fetch->began, fetch->reported.value_or(loop_->Now()),
                                    fetch->released.value_or(loop_->Now()), grant.bytes(),
                                    grant.concurrent()});
  }
  if (grant.handover()) {
    job->handed_over[grant.run_id()] = v1::RunInfo();
  } else {
    job->received[{grant.run_id(), grant.section_offset()}].push_back(
        {grant.offset(), grant.bytes()});
  }
  v1::ReportTransferRequest request;
  *request.mutable_fence() = fetch->fence;
  request.set_worker_id(worker_id_);
  request.mutable_report()->set_transfer(grant.transfer());
  request.mutable_report()->set_done(true);
  request.mutable_report()->set_bytes(grant.bytes());
  if (faults_.disk_full) {
    *request.mutable_report()->mutable_error() =
        MakeJobError(job_error::kDiskFull, "no space left for received data (simulated)");
  }
  Report(job, std::move(request), &rpc::ClusterApi::ReportTransfer);
  if (!grant.concurrent() && !fetch->released) job->fetching = false;
  NextFetch(job);
}

void SimWorker::FailFetch(const JobPtr& job, const std::shared_ptr<Fetch>& fetch,
                          const std::string& why) {
  fetch->over = true;
  v1::ReportTransferRequest request;
  *request.mutable_fence() = fetch->fence;
  request.set_worker_id(worker_id_);
  request.mutable_report()->set_transfer(fetch->grant.transfer());
  v1::JobError& error = *request.mutable_report()->mutable_error();
  error = MakeJobError(job_error::kTransferFailed,
                       absl::StrCat("cannot fetch from ", fetch->grant.source_worker(), ": ", why));
  Report(job, std::move(request), &rpc::ClusterApi::ReportTransfer);
}

void SimWorker::ReleaseJob(v1::ReleaseJobRequest request, absl::Duration /*timeout*/,
                           rpc::Reply<v1::ReleaseJobResponse> reply) {
  loop_->RunAt(loop_->Now() + kTaskStop,
               [this, id = request.fence().job_id(), reply = std::move(reply)]() mutable {
                 ReleaseHeld(id);
                 v1::ReleaseJobResponse response;
                 response.set_task_output_tail(absl::StrCat("output on ", model_.name, "\n"));
                 reply(std::move(response));
               });
}

}  // namespace weir::sim
