#pragma once

// Which workers are alive. Pure: time is passed in. Upstream: WorkerTable. Downstream: nothing.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/base/mono_time.h"

namespace weir::master {

using WorkerId = std::int64_t;
using Epoch = std::int64_t;

/// Knows which workers are alive, by lease.
///
/// A lease runs from the last accepted heartbeat for `lease`. When it ends, the worker is reported
/// lost exactly once and its epoch is fenced: whatever still arrives under that epoch is refused,
/// so a worker that was merely slow can never commit output. Thread-safety: none; control strand
/// only. Time: passed in as `now`, never read; `now` must not go backwards. Failure semantics:
/// keeps no durable state. After a master restart the table is empty and every
///   worker registers again; `first_epoch` grows with the master's own epoch, so that a worker
///   epoch is never used twice.
/// Bounds: limits::kWorkersMax entries.
/// Checked by: tests/unit/master/worker_leases_test.cc.
class WorkerLeases {
 public:
  WorkerLeases(absl::Duration lease, Epoch first_epoch);

  /// Opens a lease and returns the epoch to stamp on every message. A known worker's old epoch is
  /// fenced by it. Errors: kResourceExhausted when the table is full.
  absl::StatusOr<Epoch> Register(WorkerId worker, MonoTime now);
  /// Extends the lease. Idempotent; late and duplicate heartbeats do no harm.
  /// Errors: kNotFound (register again); kAborted (old epoch: drop all attempts, then register
  /// again).
  absl::Status Renew(WorkerId worker, Epoch epoch, MonoTime now);
  /// Says whether this epoch holds a lease, whatever the time. Errors: as Renew.
  absl::Status Check(WorkerId worker, Epoch epoch) const;
  /// Removes and returns, in id order, the workers whose lease ended at or before `now`.
  std::vector<WorkerId> TakeExpired(MonoTime now);
  /// End of the lease that ends first; nothing when there is none.
  std::optional<MonoTime> NextExpiry() const;

 private:
  struct Lease {
    Epoch epoch = 0;
    MonoTime ends;
  };
  const absl::Duration lease_;
  Epoch next_epoch_;
  absl::btree_map<WorkerId, Lease> leases_;
};

}  // namespace weir::master
