// The queue of Master: which jobs begin, what each gets, and what users hear of it.

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/log.h"
#include "runtime/master/master_impl.h"

namespace weir::master {

void Master::Impl::Enqueue(const v1::JobStatus& job, bool resumed) {
  // It may replace what an earlier job has published, of which nobody would know then.
  if (IsUnsettled(job.spec())) return held_back_.push_back(job.job_id());
  JobWish wish;
  wish.priority = job.spec().priority();
  wish.submitted_unix_ms = job.submitted_unix_ms();
  if (job.progress().input_bytes_total() > 0) wish.input_bytes = job.progress().input_bytes_total();
  wish.resumed = resumed;
  queue_.Add(job.job_id(), wish);
}

bool Master::Impl::QueueHeld() const {
  // A job would disturb what is measured, and be disturbed.
  if (CalibrationRuns()) return true;
  return life_ != Life::kServing || !workers_->AnyAlive() || seams_.loop.Now() < queue_held_until_;
}

WorkerRoom Master::Impl::Room() const {
  WorkerRoom room;
  workers_->ForEachAlive([&room](const RegisteredWorker& worker) {
    const v1::WorkerProfile& profile = worker.profile;
    ++room.num_workers;
    room.limited = room.limited || profile.memory_bytes() > 0;
    const std::int64_t bytes =
        profile.memory_bytes() > 0 ? profile.memory_bytes() : profile.available_memory_bytes();
    if (bytes > 0) {
      room.memory_bytes = room.memory_bytes == 0 ? bytes : std::min(room.memory_bytes, bytes);
    }
  });
  return room;
}

void Master::Impl::BeginJobs() {
  if (QueueHeld()) return;
  while (const std::optional<JobBegins> next = queue_.TakeNext(Room())) {
    // One that was cancelled while it waited is on its way out already.
    JobRun* run = FindRun(next->job);
    if (run == nullptr || !run->queued()) {
      queue_.Remove(next->job);
      continue;
    }
    run->Begin(next->memory_share);
  }
}

void Master::Impl::JobFinished(std::string job_id) {
  runs_.erase(job_id);
  artifacts_.LetGo(job_id);
  queue_.Remove(job_id);
  BeginJobs();
  StopIfIdle();
}

v1::JobStatus Master::Impl::WithPlace(const v1::JobStatus& status) const {
  v1::JobStatus placed = status;
  if (status.state() == v1::JOB_STATE_QUEUED) {
    placed.set_place_in_queue(queue_.PlaceOf(status.job_id()));
  }
  return placed;
}

std::string Master::Impl::Busy(const std::vector<std::string>& jobs) const {
  if (!jobs.empty()) return absl::StrCat("job ", jobs.front());
  if (CalibrationRuns()) return "a calibration";
  return sampling_dry_runs_.empty() ? "" : "a dry run that samples";
}

std::string Master::Impl::Busy() const { return Busy(queue_.running()); }

std::string Master::Impl::BusyBeside(const std::string& job_id) const {
  return Busy(queue_.Beside(job_id));
}

}  // namespace weir::master
