// The steps of one job: orders to its task process, results to the master.

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "google/protobuf/util/json_util.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/log.h"
#include "runtime/base/run_id.h"
#include "runtime/base/task_memory.h"
#include "runtime/worker/worker_job.h"

namespace weir::worker {
namespace {

// Not synced: a spec is of use only as long as the runs beside it are, and those are not synced
// either.
absl::Status WriteSpec(env::Storage& storage, const std::string& path, const v1::TaskSpec& spec) {
  std::string json;
  google::protobuf::util::JsonPrintOptions readable;
  readable.add_whitespace = true;
  if (auto status = google::protobuf::util::MessageToJsonString(spec, &json, readable);
      !status.ok()) {
    return absl::InternalError(
        absl::StrCat("cannot print a spec: ", std::string(status.message())));
  }
  return storage.WriteFile(path, json);
}

}  // namespace

bool WorkerJob::RefersToInput(const v1::TaskCommand::Start& start) const {
  const int workers = options_.workers_on_machine;
  // Pages of the input are there once for all of them; of a limit each has its own part.
  const int sharing = start.memory_bytes() > 0 ? 1 : workers;
  return workers > 0 &&
         MayReferToInput(request_.input_bytes(), sharing * start.spill_above_bytes());
}

v1::TaskCommand::Start WorkerJob::TaskStart() const {
  v1::TaskCommand::Start start;
  start.set_job_id(request_.fence().job_id());
  start.set_job(request_.spec().job());
  *start.mutable_parameters() = request_.spec().parameters();
  start.set_slots(options_.slots);
  start.set_work_dir(paths_.task);
  start.set_memory_bytes(MemoryOfTask(options_.memory_bytes, request_.memory_share()));
  start.set_spill_above_bytes(start.memory_bytes() > 0 ? SpillAboveOf(start.memory_bytes())
                                                       : options_.spill_above_bytes);
  start.set_refers_to_input(RefersToInput(start));
  start.set_skip_bad(request_.spec().skip_bad());
  start.set_no_check_operation(request_.spec().no_check_operation());
  for (const v1::Artifact& artifact : request_.spec().artifacts()) {
    if (request_.spec().has_module() && artifact.sha256() == request_.spec().module().sha256()) {
      start.set_module_path(absl::StrCat(paths_.task, "/", artifact.name()));
    } else if (artifact.unpack()) {
      v1::TaskCommand::Start::Archive& archive = *start.add_archives();
      archive.set_path(absl::StrCat(paths_.archives, "/", artifact.name()));
      archive.set_folder(artifact.name());
    } else {
      start.add_files(artifact.name());
    }
  }
  return start;
}

absl::Status WorkerJob::StartStep(const v1::StartStepRequest& request) {
  if (failure_) return StatusFromJobError(absl::StatusCode::kInternal, *failure_);
  if (state_ != State::kReady) {
    return absl::FailedPreconditionError("the job is not prepared");
  }
  if (step_) {
    return absl::FailedPreconditionError(
        absl::StrCat(step_->run.order().label(), " is not finished"));
  }
  v1::TaskSpec spec;
  *spec.mutable_start() = TaskStart();
  v1::TaskCommand::Run& run = *spec.mutable_run();
  *run.mutable_fence() = request.fence();
  *run.mutable_order() = request.order();
  if (absl::Status status = ResolveInputs(paths_, *run.mutable_order()); !status.ok()) {
    return status;
  }
  const std::string run_id = RunIdOf(request.order().step(), request.fence().attempt());
  if (request.order().part_path().empty()) {
    run.set_run_path(paths_.OwnRun(run_id));
  } else {
    auto part =
        PartPathInside(request_.staging_dir().empty() ? paths_.runs : request_.staging_dir(),
                       request.order().part_path());
    if (!part.ok()) return part.status();
    run.mutable_order()->set_part_path(*std::move(part));
  }
  // What it held from step to step is gone with it: who orders shall know. An answer may be lost:
  // the same attempt is refused as often as it is asked for.
  const std::pair attempt(request.order().step(), static_cast<int>(request.fence().attempt()));
  if (untold_ && refused_.value_or(attempt) == attempt) {
    refused_ = attempt;
    return StatusFromJobError(absl::StatusCode::kInternal, *untold_);
  }
  untold_.reset();
  if (task_state_ == Task::kEnded) {
    if (!task_->ended()) return TaskLingers();
    if (absl::Status started = RestartTask(); !started.ok()) {
      return StatusFromJobError(absl::StatusCode::kInternal, Named(OwnError(started), ""));
    }
  }
  step_ = ActiveStep{run, seams_.loop.Now()};
  KeepRunFiles(run);
  RemoveUnreadRuns(run.order());
  if (IsSample(request_)) {
    // Nobody runs steps of a sample again by hand, and files are a part of what it takes.
    OnSpecWritten(absl::OkStatus());
    return absl::OkStatus();
  }
  OnDiskPool([&storage = seams_.storage, path = paths_.Spec(run_id),
              spec = std::move(spec)] { return WriteSpec(storage, path, spec); },
             [this](const absl::Status& status) { OnSpecWritten(status); });
  return absl::OkStatus();
}

absl::Status WorkerJob::TaskLingers() const {
  // The master asks again.
  if (seams_.loop.Now() - task_failed_ < options_.task_end_patience) {
    return absl::UnavailableError("the job's task process was killed and has not ended yet");
  }
  v1::JobError error = MakeJobError(
      job_error::kTaskHung, "the job's task process was killed and does not end",
      absl::StrCat("it waits for a disk that does not answer: check the file systems of the inputs "
                   "and the output, and the work directory ",
                   options_.work_dir));
  error.set_fault_of(v1::FAULT_OF_WORKER);
  return StatusFromJobError(absl::StatusCode::kInternal, Named(std::move(error), ""));
}

void WorkerJob::KeepRunFiles(const v1::TaskCommand::Run& run) {
  const v1::StepOrder& order = run.order();
  if (!run.run_path().empty()) {
    files_.Add(RunIdOf(order.step(), run.fence().attempt()), run.run_path());
  }
  for (const v1::StepInput& input : order.inputs()) {
    const bool elsewhere = input.place() != v1::SECTION_PLACE_OWN_RUN && input.bytes() > 0;
    if (elsewhere) files_.Add(input.run_id(), input.path());
  }
}

void WorkerJob::RemoveUnreadRuns(const v1::StepOrder& order) {
  std::vector<std::string> unread;
  for (const std::string& run_id : order.unread_runs()) {
    seams_.runs.Withdraw(request_.fence().job_id(), run_id);
    held_.Remove(run_id);
    for (std::string& path : files_.Take(run_id)) unread.push_back(std::move(path));
  }
  RemoveFiles(std::move(unread));
}

void WorkerJob::RemoveFiles(std::vector<std::string> paths) {
  if (paths.empty()) return;
  OnDiskPool(
      [&storage = seams_.storage, paths = std::move(paths)] {
        absl::Status first;
        for (const std::string& path : paths) first.Update(storage.RemoveAll(path));
        return first;
      },
      [job_id = request_.fence().job_id()](const absl::Status& status) {
        // Costs space until the job's release, no more.
        if (status.ok()) return;
        LogWarning("Run not removed", {{"job", job_id}, {"error", std::string(status.message())}});
      });
}

// By the names of this attempt alone: another task may write there by then.
void WorkerJob::RemoveSpills(int step, int attempt) {
  OnDiskPool(
      [&storage = seams_.storage, folder = paths_.task, prefix = SpillPrefixOf(step, attempt)] {
        const absl::StatusOr<std::vector<std::string>> names = storage.ListNames(folder);
        if (!names.ok()) return absl::IsNotFound(names.status()) ? absl::Status() : names.status();
        absl::Status first;
        for (absl::string_view name : *names) {
          const std::string path = absl::StrCat(folder, "/", name);
          // Users may ship files of other names that begin so.
          const bool is_spill = absl::ConsumePrefix(&name, prefix) && !name.empty() &&
                                std::all_of(name.begin(), name.end(), absl::ascii_isdigit);
          if (is_spill) first.Update(storage.RemoveAll(path));
        }
        return first;
      },
      [job_id = request_.fence().job_id()](const absl::Status& status) {
        // Costs space until the next task of the job starts here, no more.
        if (status.ok()) return;
        LogWarning("What a killed task had put on disk is not removed",
                   {{"job", job_id}, {"error", std::string(status.message())}});
      });
}

void WorkerJob::WriteDown(v1::HeldJob held, absl::AnyInvocable<void()> written) {
  if (held.runs_size() == 0 || !leaves_word()) return written();
  const std::string job_id = held.job_id();
  OnDiskPool([&storage = seams_.storage, paths = paths_,
              held = std::move(held)] { return WriteHeldRecords(storage, paths, held); },
             [job_id, written = std::move(written)](const absl::Status& status) mutable {
               // Costs the run if this daemon is killed, no more.
               if (!status.ok()) {
                 LogWarning("Run not written down",
                            {{"job", job_id}, {"error", std::string(status.message())}});
               }
               written();
             });
}

void WorkerJob::OnSpecWritten(const absl::Status& status) {
  // The task may have died, or the job been released, meanwhile.
  if (!step_ || state_ != State::kReady) return;
  if (!status.ok()) return FailStep(OwnError(status));
  step_->spec_written = true;
  RunStepWhenReady();
}

void WorkerJob::RunStepWhenReady() {
  const bool both = step_ && step_->spec_written && task_state_ == Task::kReady;
  if (!both || state_ != State::kReady || step_->failed) return;
  if (absl::Status started = task_->Run(step_->run); !started.ok()) FailStep(OwnError(started));
}

void WorkerJob::OnStepResult(v1::StepResult result) {
  if (!step_ || state_ != State::kReady) return;
  const v1::TaskCommand::Run& run = step_->run;
  if (result.has_error()) return FailStep(std::move(*result.mutable_error()));
  if (!run.run_path().empty()) {
    result.mutable_run()->set_run_id(RunIdOf(run.order().step(), run.fence().attempt()));
    result.mutable_run()->set_path(run.run_path());
    const absl::Status published =
        seams_.runs.Publish(run.fence().job_id(), result.run().run_id(),
                            transfer::RunFile{run.run_path(), result.run().bytes()});
    if (!published.ok()) return FailStep(OwnError(published));
  }
  ReportStep(std::move(result));
}

void WorkerJob::FailStep(v1::JobError error) {
  if (step_->failed) return;
  step_->failed = true;
  // A task that was killed leaves what it had written, and the job may go on for long. Nobody waits
  // for the removal: what failed may be the disk.
  const int step = step_->run.order().step();
  const int attempt = static_cast<int>(step_->run.fence().attempt());
  RemoveFiles(files_.Take(RunIdOf(step, attempt)));
  if (task_state_ == Task::kEnded) RemoveSpills(step, attempt);
  FindCause(std::move(error), [this](v1::JobError cause) {
    if (!step_ || state_ == State::kReleasing) return;
    v1::StepResult result;
    result.set_step(step_->run.order().step());
    *result.mutable_error() = Named(std::move(cause), step_->run.order().label());
    ReportStep(std::move(result));
  });
}

void WorkerJob::ReportStep(v1::StepResult result) {
  v1::ReportStepRequest request;
  *request.mutable_fence() = step_->run.fence();
  request.set_worker_id(worker_id_);
  result.set_run_s(absl::ToDoubleSeconds(seams_.loop.Now() - step_->started));
  const bool made_run = held_.Add(request.fence(), result);
  *request.mutable_result() = std::move(result);
  std::string label = step_->run.order().label();
  step_.reset();
  if (!made_run) return DeliverReport(label, std::move(request));
  const std::string run_id = request.result().run().run_id();
  if (leaves_word()) files_.Add(run_id, paths_.HeldRecord(run_id));
  v1::HeldJob held = held_.Tell(request.fence(), run_id);
  // A master that has heard of a run counts on it, also after this daemon's death.
  WriteDown(std::move(held),
            [this, label = std::move(label), request = std::move(request)]() mutable {
              if (state_ != State::kReleasing) DeliverReport(label, std::move(request));
            });
}

void WorkerJob::DeliverReport(const std::string& step, v1::ReportStepRequest request) {
  const std::string what = absl::StrCat(step, " of job ", request.fence().job_id());
  reports_.Deliver(
      what, [&cluster = seams_.cluster, request = std::move(request)](ReportSender::Answer answer) {
        cluster.Send<rpc::ReportStep>(request,
                                      [answer = std::move(answer)](const auto& response) mutable {
                                        answer(response.status());
                                      });
      });
}

}  // namespace weir::worker
