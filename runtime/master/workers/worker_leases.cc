#include "runtime/master/workers/worker_leases.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/limits.h"

namespace weir::master {

WorkerLeases::WorkerLeases(absl::Duration overdue, Epoch first_epoch)
    : overdue_(overdue), next_epoch_(first_epoch) {}

absl::StatusOr<Epoch> WorkerLeases::Register(WorkerId worker, absl::Duration length, MonoTime now) {
  const auto known = leases_.find(worker);
  if (known == leases_.end() && static_cast<std::int64_t>(leases_.size()) >= limits::kWorkersMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the master already serves ", limits::kWorkersMax,
                     " workers, its maximum; stop some or start a second cluster"));
  }
  const Epoch epoch = next_epoch_++;
  leases_[worker] = Lease{epoch, length, now, now};
  return epoch;
}

absl::Status WorkerLeases::Check(WorkerId worker, Epoch epoch) const {
  const auto it = leases_.find(worker);
  if (it == leases_.end()) {
    return absl::NotFoundError(absl::StrCat("worker ", worker, " holds no lease; register again"));
  }
  if (it->second.epoch != epoch) {
    return absl::AbortedError(absl::StrCat("worker ", worker, " is fenced under epoch ", epoch,
                                           ", now ", it->second.epoch,
                                           "; drop all attempts and register again"));
  }
  return absl::OkStatus();
}

absl::Status WorkerLeases::Renew(WorkerId worker, Epoch epoch, MonoTime now) {
  absl::Status held = Check(worker, epoch);
  if (!held.ok()) return held;
  Lease& lease = leases_[worker];
  lease.heard = std::max(lease.heard, now);
  return absl::OkStatus();
}

std::vector<WorkerId> WorkerLeases::TakeExpired(MonoTime now) {
  std::vector<WorkerId> expired;
  for (auto it = leases_.begin(); it != leases_.end();) {
    if (it->second.heard + it->second.length <= now) {
      expired.push_back(it->first);
      it = leases_.erase(it);
    } else {
      ++it;
    }
  }
  return expired;
}

std::vector<SilentWorker> WorkerLeases::TakeSilent(MonoTime now) {
  std::vector<SilentWorker> silent;
  for (auto& [worker, lease] : leases_) {
    if (AskAt(lease) > now) continue;
    lease.asked = now;
    silent.push_back({worker, lease.epoch, now});
  }
  return silent;
}

SilentWorker WorkerLeases::Ask(WorkerId worker, MonoTime now) {
  Lease& lease = leases_.at(worker);
  lease.asked = now;
  return {worker, lease.epoch, now};
}

bool WorkerLeases::EndLease(const SilentWorker& gone) {
  const auto it = leases_.find(gone.worker);
  if (it == leases_.end() || it->second.epoch != gone.epoch || it->second.heard >= gone.asked) {
    return false;
  }
  leases_.erase(it);
  return true;
}

absl::Status WorkerLeases::Leave(WorkerId worker, Epoch epoch) {
  absl::Status held = Check(worker, epoch);
  if (held.ok()) leases_.erase(worker);
  return held;
}

void WorkerLeases::StoodStill(absl::Duration stood, MonoTime now) {
  for (auto& [worker, lease] : leases_) {
    lease.heard = std::max(lease.heard, std::min(lease.heard + stood, now));
    lease.asked = std::max(lease.asked, std::min(lease.asked + stood, now));
  }
}

std::optional<MonoTime> WorkerLeases::NextWake() const {
  std::optional<MonoTime> first;
  for (const auto& [worker, lease] : leases_) {
    const MonoTime wake = std::min(lease.heard + lease.length, AskAt(lease));
    if (!first || wake < *first) first = wake;
  }
  return first;
}

}  // namespace weir::master
