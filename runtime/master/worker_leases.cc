#include "runtime/master/worker_leases.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/limits.h"

namespace weir::master {

WorkerLeases::WorkerLeases(absl::Duration lease, Epoch first_epoch)
    : lease_(lease), next_epoch_(first_epoch) {}

absl::StatusOr<Epoch> WorkerLeases::Register(WorkerId worker, MonoTime now) {
  const auto known = leases_.find(worker);
  if (known == leases_.end() && static_cast<std::int64_t>(leases_.size()) >= limits::kWorkersMax) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the master already serves ", limits::kWorkersMax,
                     " workers, its maximum; stop some or start a second cluster"));
  }
  const Epoch epoch = next_epoch_++;
  leases_[worker] = Lease{epoch, now + lease_};
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
  lease.ends = std::max(lease.ends, now + lease_);
  return absl::OkStatus();
}

std::vector<WorkerId> WorkerLeases::TakeExpired(MonoTime now) {
  std::vector<WorkerId> expired;
  for (auto it = leases_.begin(); it != leases_.end();) {
    if (it->second.ends <= now) {
      expired.push_back(it->first);
      it = leases_.erase(it);
    } else {
      ++it;
    }
  }
  return expired;
}

std::optional<MonoTime> WorkerLeases::NextExpiry() const {
  std::optional<MonoTime> first;
  for (const auto& [worker, lease] : leases_) {
    if (!first || lease.ends < *first) first = lease.ends;
  }
  return first;
}

}  // namespace weir::master
