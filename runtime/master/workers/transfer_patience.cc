#include "runtime/master/workers/transfer_patience.h"

#include <algorithm>

#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"

namespace weir::master {

bool TransferPatience::TryAgain(std::int32_t transfer, const Failure& failure, MonoTime now) {
  const bool silent = failure.code == job_error::kWorkerUnreachable;
  const bool refused = failure.code == job_error::kTransferFailed;
  // What was damaged on its way arrives whole another time.
  const bool damaged = failure.code == job_error::kDataLoss;
  if (damaged) return failure.attempt < limits::kDamagedTriesMax;
  if (!silent && !refused) return false;
  Failing& failing = failing_.try_emplace(transfer, Failing{now}).first->second;
  if (failure.moved > 0 && ++failing.broken_off <= kBrokenOffTriesMax) failing.since = now;
  return now - failing.since < (silent ? limits::kPeerPatience : limits::kRefusedPatience);
}

void TransferPatience::StoodStill(absl::Duration stood, MonoTime now) {
  for (auto& [transfer, failing] : failing_) failing.since = std::min(failing.since + stood, now);
}

}  // namespace weir::master
