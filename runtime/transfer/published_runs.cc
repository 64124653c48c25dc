#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/transfer/run_catalog.h"

namespace weir::transfer {

void PublishedRuns::AddJob(const JobKey& key) {
  const std::lock_guard lock(mutex_);
  jobs_[key.job_id] = Job{key, {}};
}

absl::Status PublishedRuns::Publish(const std::string& job_id, const std::string& run_id,
                                    RunFile file) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(job_id);
  if (job == jobs_.end()) {
    return absl::NotFoundError(absl::StrCat("cannot publish run ", run_id, " of job ", job_id,
                                            ": this worker does not hold the job"));
  }
  job->second.runs[run_id] = std::move(file);
  return absl::OkStatus();
}

void PublishedRuns::Withdraw(const std::string& job_id, const std::string& run_id) {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(job_id);
  if (job != jobs_.end()) job->second.runs.erase(run_id);
}

void PublishedRuns::RemoveJob(const std::string& job_id) {
  const std::lock_guard lock(mutex_);
  jobs_.erase(job_id);
}

absl::StatusOr<RunFile> PublishedRuns::Find(const JobKey& key, const std::string& run_id) const {
  const std::lock_guard lock(mutex_);
  const auto job = jobs_.find(key.job_id);
  if (job == jobs_.end()) {
    return absl::NotFoundError(absl::StrCat("job ", key.job_id, " is not held by this worker"));
  }
  const JobKey& own = job->second.key;
  if (key.token != own.token) {
    return absl::PermissionDeniedError(absl::StrCat("wrong token for job ", key.job_id));
  }
  if (key.master_epoch != own.master_epoch || key.plan_epoch != own.plan_epoch) {
    return absl::AbortedError(absl::StrCat(
        "stale request for job ", key.job_id, ": master epoch ", key.master_epoch, ", plan epoch ",
        key.plan_epoch, "; this worker is at ", own.master_epoch, " and ", own.plan_epoch));
  }
  const auto run = job->second.runs.find(run_id);
  if (run == job->second.runs.end()) {
    return absl::NotFoundError(
        absl::StrCat("run ", run_id, " of job ", key.job_id, " is not published by this worker"));
  }
  return run->second;
}

}  // namespace weir::transfer
