#include "runtime/worker/worker_job.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/errno_status.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"

namespace weir::worker {
namespace {

bool HasArchives(const v1::JobSpec& spec) {
  return std::any_of(spec.artifacts().begin(), spec.artifacts().end(),
                     [](const v1::Artifact& artifact) { return artifact.unpack(); });
}

// The task writes parts into a directory that the master made: is it the same one here, and open to
// this user?
absl::Status CheckStaging(env::Storage& storage, const v1::PrepareJobRequest& request) {
  const std::string& staging = request.staging_dir();
  if (staging.empty())
    return absl::OkStatus();  // a job without output: parts stay in its directory
  const absl::Status found =
      storage.Stat(absl::StrCat(staging, "/.weir-job-", request.fence().job_id())).status();
  const bool writable = storage.MayWriteIn(staging);
  if (found.ok() && writable) return absl::OkStatus();
  if (!found.ok() && !absl::IsNotFound(found) && !absl::IsPermissionDenied(found)) return found;
  const char* what = absl::IsNotFound(found) ? "see" : "write to";
  v1::JobError error = MakeJobError(
      job_error::kOutputNotShared,
      absl::StrCat("this worker cannot ", what, " the output's staging directory ", staging),
      "choose an output on a file system that the master and all workers mount at the same path, "
      "and run them as one user");
  return StatusFromJobError(absl::StatusCode::kFailedPrecondition, error);
}

}  // namespace

WorkerJob::WorkerJob(const WorkerOptions& options, const WorkerSeams& seams,
                     ArtifactCache& artifacts, std::int64_t worker_id, std::string worker_directory,
                     v1::PrepareJobRequest request, std::optional<v1::HeldJob> earlier)
    : options_(options),
      seams_(seams),
      worker_id_(worker_id),
      request_(std::move(request)),
      paths_(MakeJobPaths(worker_directory, request_.fence().job_id())),
      used_before_(earlier.has_value()),
      reports_(seams.loop, seams.random),
      supply_(std::make_shared<ArtifactSupply>(
          seams, artifacts, request_.fence().job_id(),
          ArtifactPlaces{absl::StrCat(worker_directory, "/artifacts"), paths_.task,
                         paths_.archives},
          request_.spec())),
      task_(MakeTask()) {
  if (earlier && request_.has_kept() && IsOfPlan(*earlier, request_.kept())) {
    held_ = HeldRuns(*earlier);
    if (takes_over()) held_.ForgetEdits();
  }
  for (const auto& [id, run] : held_.runs()) {
    files_.Add(id, run.result().run().path());
    files_.Add(id, paths_.HeldRecord(id));
  }
}

bool WorkerJob::takes_over() const {
  const v1::Fence& fence = request_.fence();
  const v1::KeptPlan& kept = request_.kept();
  return request_.has_kept() &&
         (kept.master_epoch() != fence.master_epoch() || kept.plan_epoch() != fence.plan_epoch());
}

std::unique_ptr<JobTask> WorkerJob::MakeTask() {
  return seams_.tasks.MakeTask(
      {.on_ready = [this] { OnTaskReady(); },
       .on_result = [this](v1::StepResult r) { OnStepResult(std::move(r)); },
       .on_failed = [this](v1::JobError e) { OnTaskFailed(std::move(e)); }});
}

absl::Status WorkerJob::MakeDirectories(env::Storage& storage, const JobPaths& paths,
                                        const v1::PrepareJobRequest& request, bool runs_there) {
  const std::array<std::pair<const std::string&, bool>, 5> directories = {
      {{paths.root, !runs_there},
       {paths.runs, !runs_there},
       {paths.received, !IsSample(request)},
       {paths.task, true},
       {paths.archives, HasArchives(request.spec())}}};
  for (const auto& [directory, wanted] : directories) {
    if (!wanted) continue;
    if (absl::Status status = storage.MakeDirectory(directory); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void WorkerJob::Prepare(Prepared prepared) {
  switch (state_) {
    case State::kReady:
      return prepared(absl::OkStatus());
    case State::kFailed:
      return prepared(StatusFromJobError(absl::StatusCode::kInternal, *failure_));
    case State::kReleasing:
      return prepared(absl::AbortedError("the job is being released"));
    case State::kPreparing:
      preparing_.push_back(std::move(prepared));
      return;
    case State::kNew:
      break;
  }
  state_ = State::kPreparing;
  preparing_.push_back(std::move(prepared));
  OnDiskPool(
      [&storage = seams_.storage, request = request_, paths = paths_, held = held_,
       used_before = used_before_] {
        if (request.has_kept() && held.empty()) {
          return absl::DataLossError("the runs that this worker was to keep are gone");
        }
        absl::Status status = CheckStaging(storage, request);
        if (status.ok()) status = CheckThere(storage, held);
        if (status.ok() && used_before) {
          status = held.empty() ? storage.RemoveAll(paths.root) : KeepOnly(storage, paths, held);
        }
        return status.ok() ? MakeDirectories(storage, paths, request, !held.empty()) : status;
      },
      [this](absl::Status status) {
        if (state_ != State::kPreparing) return;
        if (!status.ok()) return EndPreparation(std::move(status));
        if (takes_over()) WriteDown(held_.Tell(request_.fence()));
        SupplyArtifacts();
      });
}

void WorkerJob::SupplyArtifacts() {
  supplying_ = true;
  supply_->Start(WhileAlive([this](absl::Status supplied) {
    supplying_ = false;
    if (state_ == State::kReleasing) return RemoveWhenIdle();
    if (state_ != State::kPreparing) return;
    if (!supplied.ok()) return EndPreparation(std::move(supplied));
    StartTask();
  }));
}

void WorkerJob::Renew(v1::PrepareJobRequest request) {
  // Nobody comes for what the old plan moved; its rates are not those of the new one's transfers.
  seams_.server.CancelJob(request_.fence().job_id());
  request_ = std::move(request);
  OpenForPeers();
  if (state_ == State::kReady) WriteDown(held_.Tell(request_.fence()));
}

bool WorkerJob::BeginsAs(const v1::PrepareJobRequest& request) const {
  const v1::KeptPlan& kept = request_.kept();
  return request.has_kept() == request_.has_kept() &&
         request.kept().master_epoch() == kept.master_epoch() &&
         request.kept().plan_epoch() == kept.plan_epoch();
}

void WorkerJob::OpenForPeers() {
  const v1::Fence& fence = request_.fence();
  seams_.runs.AddJob(transfer::JobKey{fence.job_id(), request_.job_token(), fence.master_epoch(),
                                      fence.plan_epoch()});
  for (const auto& [id, run] : held_.runs()) {
    const v1::RunInfo& info = run.result().run();
    // Added just now.
    seams_.runs.Publish(fence.job_id(), id, transfer::RunFile{info.path(), info.bytes()})
        .IgnoreError();
  }
}

void WorkerJob::StartTask() {
  OpenForPeers();
  absl::Status status = task_->Start(paths_.task, TaskStart());
  if (!status.ok()) EndPreparation(std::move(status));
}

void WorkerJob::EndPreparation(absl::Status status) {
  if (state_ != State::kPreparing) return;
  state_ = status.ok() ? State::kReady : State::kFailed;
  if (!status.ok()) {
    failure_ = Named(OwnError(status), "");
    status = StatusFromJobError(status.code(), *failure_);
    LogWarning("Job not prepared",
               {{"job", request_.fence().job_id()}, {"error", DescribeJobError(*failure_)}});
  }
  for (Prepared& prepared : std::exchange(preparing_, {})) prepared(status);
}

void WorkerJob::OnTaskReady() {
  task_state_ = Task::kReady;
  if (state_ == State::kPreparing) return EndPreparation(absl::OkStatus());
  RunStepWhenReady();
}

absl::Status WorkerJob::RestartTask() {
  LogInfo("Task process started anew", {{"job", request_.fence().job_id()}});
  earlier_output_ = OutputTail();
  task_ = MakeTask();
  task_state_ = Task::kStarting;
  absl::Status started = task_->Start(paths_.task, TaskStart());
  if (!started.ok()) task_state_ = Task::kEnded;
  return started;
}

std::string WorkerJob::OutputTail() const {
  const auto most = static_cast<std::size_t>(limits::kTaskOutputTailBytes);
  const std::string all = absl::StrCat(earlier_output_, task_->OutputTailBytes(most));
  return all.substr(all.size() - std::min(all.size(), most));
}

void WorkerJob::OnTaskFailed(v1::JobError error) {
  // Outside of steps a task writes nowhere else.
  if (error.code() == job_error::kDiskFull) error.set_fault_of(v1::FAULT_OF_WORKER);
  if (state_ == State::kPreparing) {
    return EndPreparation(StatusFromJobError(absl::StatusCode::kInternal, error));
  }
  if (state_ == State::kReleasing) return;
  task_state_ = Task::kEnded;
  task_failed_ = seams_.loop.Now();
  error = Named(std::move(error), "");
  LogWarning("Task process failed",
             {{"job", request_.fence().job_id()}, {"error", DescribeJobError(error)}});
  if (step_) return FailStep(std::move(error));
  untold_ = std::move(error);
  refused_.reset();
}

void WorkerJob::Release(Released released) {
  holding_ = false;
  releasing_.push_back(std::move(released));
  EndAll();
}

void WorkerJob::Hold(Released held) {
  holding_ = true;
  releasing_.push_back(std::move(held));
  EndAll();
}

v1::HeldJob WorkerJob::Held() const {
  return holding_ ? held_.Tell(request_.fence()) : v1::HeldJob();
}

void WorkerJob::EndAll() {
  if (state_ == State::kReleasing) return RemoveWhenIdle();
  const std::string& job_id = request_.fence().job_id();
  state_ = State::kReleasing;
  for (Prepared& prepared : std::exchange(preparing_, {})) {
    prepared(absl::AbortedError(absl::StrCat("job ", job_id, " was released")));
  }
  supply_->Cancel();
  reports_.Stop();
  transfers_.ClearWaiting();
  seams_.runs.RemoveJob(job_id);
  seams_.server.CancelJob(job_id);
  seams_.fetcher.CancelJob(job_id);
  task_->Stop(WhileAlive([this] {
    task_stopped_ = true;
    RemoveWhenIdle();
  }));
}

void WorkerJob::RemoveWhenIdle() {
  // Nothing may still write into the directory while it is removed.
  if (!task_stopped_ || supplying_ || !moving_.empty() || disk_work_running_ > 0 || removing_)
    return;
  removing_ = true;
  OnDiskPool(
      [&storage = seams_.storage, paths = paths_, holding = holding_, held = held_] {
        return holding ? KeepOnly(storage, paths, held) : storage.RemoveAll(paths.root);
      },
      [this, held = holding_](const absl::Status& status) {
        removing_ = false;
        // Released meanwhile, or nothing to go on with.
        if (held && (!holding_ || !status.ok())) {
          holding_ = false;
          return RemoveWhenIdle();
        }
        EndRelease(status);
      });
}

void WorkerJob::EndRelease(const absl::Status& status) {
  // Once: it is asked for until it is gone.
  if (!status.ok() && std::exchange(not_removed_, status) != status) {
    LogWarning("Job directory not removed",
               {{"job", request_.fence().job_id()}, {"error", status.message()}});
  }
  const std::string tail = OutputTail();
  for (Released& released : std::exchange(releasing_, {})) {
    released(status.ok() ? absl::StatusOr<std::string>(tail) : status);
  }
}

void WorkerJob::OnFilesLost() {
  held_.Clear();
  if (state_ == State::kPreparing) {
    return EndPreparation(StatusFromJobError(absl::StatusCode::kInternal, FilesLost()));
  }
  if (state_ != State::kReady) return;
  state_ = State::kFailed;
  failure_ = Named(FilesLost(), "");
  LogWarning("Job lost its files",
             {{"job", request_.fence().job_id()}, {"error", DescribeJobError(*failure_)}});
  if (step_) FailStep(*failure_);
}

v1::JobError WorkerJob::FilesLost() const {
  return MakeJobError(job_error::kWorkDirectoryLost,
                      absl::StrCat("directory ", paths_.root, " was removed while the job ran"),
                      absl::StrCat("submit the job again; if something cleans up ",
                                   options_.work_dir, ", choose another --work-dir"));
}

void WorkerJob::FindCause(v1::JobError error, absl::AnyInvocable<void(v1::JobError)> found) {
  OnDiskPool(
      [&storage = seams_.storage, root = paths_.root] { return storage.Stat(root).status(); },
      [this, error = std::move(error),
       found = std::move(found)](const absl::Status& there) mutable {
        if (absl::IsNotFound(there)) error = Named(FilesLost(), error.step());
        found(std::move(error));
      });
}

v1::JobError WorkerJob::OwnError(const absl::Status& status) const {
  // Codes of input and output files would mislead here: these are the worker's own files.
  if (CarriesJobError(status)) return JobErrorFromStatus(status);
  v1::JobError error =
      IsDiskFull(status)
          ? JobErrorFromStatus(status)
          : MakeJobError(job_error::kInternal,
                         absl::StrCat("worker ", options_.name, ": ", status.message()),
                         absl::StrCat("check the work directory ", options_.work_dir,
                                      " and the limits of the worker's user"));
  error.set_fault_of(v1::FAULT_OF_WORKER);
  return error;
}

v1::JobError WorkerJob::Named(v1::JobError error, const std::string& step) const {
  if (error.worker().empty()) error.set_worker(options_.name);
  if (error.step().empty()) error.set_step(step);
  const std::string& staging = request_.staging_dir();
  if (error.code() == job_error::kDiskFull && !staging.empty() &&
      absl::StrContains(error.message(), staging)) {
    error.set_advice(absl::StrCat("free space where ", staging, " lies, or choose another output"));
  } else if (error.code() == job_error::kDiskFull) {
    error.set_advice(absl::StrCat("free space on worker ", options_.name,
                                  ", or choose another --work-dir for it; its work directory is ",
                                  options_.work_dir));
  }
  return error;
}

void WorkerJob::OnDiskPool(absl::AnyInvocable<absl::Status()> work,
                           absl::AnyInvocable<void(absl::Status)> then) {
  ++disk_work_running_;
  auto after = [this, then = std::move(then)](absl::Status status) mutable {
    --disk_work_running_;
    then(std::move(status));
    if (state_ == State::kReleasing && !releasing_.empty()) RemoveWhenIdle();
  };
  seams_.disk_pool.Run([&loop = seams_.loop, work = std::move(work),
                        after = WhileAlive(std::move(after))]() mutable {
    loop.Post([status = work(), after = std::move(after)]() mutable { after(std::move(status)); });
  });
}

}  // namespace weir::worker
