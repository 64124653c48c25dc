#include "runtime/worker/job_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weir::worker {

void JobTable::Open(std::int64_t worker_epoch, std::int64_t master_epoch) {
  open_ = true;
  released_.clear();
  worker_epoch_ = worker_epoch;
  master_epoch_ = master_epoch;
}

void JobTable::Close() { open_ = false; }

absl::Status JobTable::CheckEpochs(const v1::Fence& fence) const {
  if (fence.job_id().empty()) return absl::InvalidArgumentError("fence names no job");
  if (!open_) {
    return absl::UnavailableError(
        absl::StrCat("worker is not registered; call for job ", fence.job_id(), " refused"));
  }
  if (fence.master_epoch() != master_epoch_ || fence.worker_epoch() != worker_epoch_) {
    return absl::AbortedError(absl::StrCat(
        "stale call for job ", fence.job_id(), ": master epoch ", fence.master_epoch(),
        ", worker epoch ", fence.worker_epoch(), "; now ", master_epoch_, " and ", worker_epoch_));
  }
  return absl::OkStatus();
}

absl::StatusOr<Admission> JobTable::Prepare(const v1::Fence& fence) {
  if (absl::Status status = CheckEpochs(fence); !status.ok()) return status;
  if (const auto before = FindReleased(fence.job_id()); before != released_.end()) {
    if (fence.plan_epoch() <= before->plan_epoch) {
      return absl::AbortedError(absl::StrCat("job ", fence.job_id(), " was released before"));
    }
    released_.erase(before);
  }
  auto [it, added] = jobs_.try_emplace(fence.job_id());
  Job& job = it->second;
  if (added) {
    job.plan_epoch = fence.plan_epoch();
    job.worker_epoch = worker_epoch_;
    return Admission::kNew;
  }
  if (job.releasing) {
    return absl::UnavailableError(absl::StrCat("job ", fence.job_id(), " is being released"));
  }
  if (fence.plan_epoch() == job.plan_epoch) return Admission::kRepeated;
  if (fence.plan_epoch() < job.plan_epoch) {
    return absl::AbortedError(absl::StrCat("stale plan epoch ", fence.plan_epoch(), " of job ",
                                           fence.job_id(), "; now ", job.plan_epoch));
  }
  const bool untouched = job.steps.empty() && job.transfers.empty();
  job.plan_epoch = fence.plan_epoch();
  job.steps.clear();
  job.transfers.clear();
  return untouched ? Admission::kRenewed : Admission::kBegunAnew;
}

absl::StatusOr<JobTable::Job*> JobTable::FindForOrder(const v1::Fence& fence) {
  if (absl::Status status = CheckEpochs(fence); !status.ok()) return status;
  if (fence.attempt() < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attempt ", fence.attempt(), " of job ", fence.job_id(), " is not positive"));
  }
  return FindJob(fence);
}

absl::Status JobTable::CheckRates(const v1::Fence& fence) {
  if (absl::Status status = CheckEpochs(fence); !status.ok()) return status;
  return FindJob(fence).status();
}

absl::StatusOr<JobTable::Job*> JobTable::FindJob(const v1::Fence& fence) {
  auto it = jobs_.find(fence.job_id());
  if (it == jobs_.end()) {
    return absl::NotFoundError(absl::StrCat("job ", fence.job_id(), " is not held; prepare it"));
  }
  if (it->second.releasing) {
    return absl::AbortedError(absl::StrCat("job ", fence.job_id(), " is being released"));
  }
  if (fence.plan_epoch() != it->second.plan_epoch) {
    return absl::AbortedError(absl::StrCat("stale plan epoch ", fence.plan_epoch(), " of job ",
                                           fence.job_id(), "; now ", it->second.plan_epoch));
  }
  return &it->second;
}

Admission JobTable::Take(Taken& taken, int index, int attempt) {
  return taken.emplace(index, attempt).second ? Admission::kNew : Admission::kRepeated;
}

absl::StatusOr<Admission> JobTable::TakeStep(const v1::Fence& fence, int step) {
  absl::StatusOr<Job*> job = FindForOrder(fence);
  if (!job.ok()) return job.status();
  return Take((*job)->steps, step, fence.attempt());
}

absl::StatusOr<Admission> JobTable::TakeTransfer(const v1::Fence& fence, int transfer) {
  absl::StatusOr<Job*> job = FindForOrder(fence);
  if (!job.ok()) return job.status();
  return Take((*job)->transfers, transfer, fence.attempt());
}

void JobTable::ForgetStep(const v1::Fence& fence, int step) {
  auto it = jobs_.find(fence.job_id());
  if (it != jobs_.end()) it->second.steps.erase({step, fence.attempt()});
}

void JobTable::ForgetTransfer(const v1::Fence& fence, int transfer) {
  auto it = jobs_.find(fence.job_id());
  if (it != jobs_.end()) it->second.transfers.erase({transfer, fence.attempt()});
}

absl::StatusOr<Admission> JobTable::BeginRelease(const v1::Fence& fence) {
  if (absl::Status status = CheckEpochs(fence); !status.ok()) return status;
  auto it = jobs_.find(fence.job_id());
  if (it == jobs_.end()) {
    return absl::NotFoundError(absl::StrCat("job ", fence.job_id(), " is not held"));
  }
  if (fence.plan_epoch() < it->second.plan_epoch) {
    return absl::AbortedError(absl::StrCat("release under stale plan epoch ", fence.plan_epoch(),
                                           " of job ", fence.job_id(), "; now ",
                                           it->second.plan_epoch));
  }
  if (it->second.releasing) return Admission::kRepeated;
  it->second.releasing = true;
  return Admission::kNew;
}

void JobTable::MarkReleasing(const std::string& job_id) {
  auto it = jobs_.find(job_id);
  if (it != jobs_.end()) it->second.releasing = true;
}

void JobTable::EndRelease(const std::string& job_id, std::string output_tail) {
  auto it = jobs_.find(job_id);
  if (it == jobs_.end()) return;
  const Job job = std::move(it->second);
  jobs_.erase(it);
  if (job.worker_epoch != worker_epoch_) return;
  released_.push_back({job_id, job.plan_epoch, std::move(output_tail)});
  if (released_.size() > kReleasedMax) released_.pop_front();
}

std::deque<JobTable::Released>::const_iterator JobTable::FindReleased(
    const std::string& job_id) const {
  return std::find_if(released_.begin(), released_.end(),
                      [&job_id](const Released& one) { return one.job_id == job_id; });
}

std::optional<std::string> JobTable::ReleasedOutput(const std::string& job_id) const {
  const auto released = FindReleased(job_id);
  return released == released_.end() ? std::nullopt : std::optional(released->output_tail);
}

}  // namespace weir::worker
