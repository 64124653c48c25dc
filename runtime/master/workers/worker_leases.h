#pragma once

// Which workers are alive. Pure: time is passed in. Upstream: WorkerTable. Downstream: nothing.

#include <algorithm>
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

/// A worker whose heartbeat is overdue.
struct SilentWorker {
  WorkerId worker = 0;
  Epoch epoch = 0;
  MonoTime asked;
};

/// Knows which workers are alive, by lease.
///
/// A lease runs from the last accepted heartbeat for as long as it was given. When it ends, the
/// worker is reported lost exactly once and its epoch is fenced: whatever still arrives under that
/// epoch is refused, so a worker that was merely slow can never commit output. A worker that is
/// silent for `overdue` is to be asked after; when that finds its process gone, its lease ends
/// there and then. Thread-safety: none; control strand only. Time: passed in as `now`, never read;
/// `now` must not go backwards. Failure semantics: keeps no durable state. After a master restart
/// the table is empty and every
///   worker registers again; `first_epoch` grows with the master's own epoch, so that a worker
///   epoch is never used twice.
/// Bounds: limits::kWorkersMax entries.
/// Checked by: tests/unit/master/worker_leases_test.cc.
class WorkerLeases {
 public:
  WorkerLeases(absl::Duration overdue, Epoch first_epoch);

  /// Opens a lease of that length and returns the epoch to stamp on every message. A known worker's
  /// old epoch is fenced by it. Errors: kResourceExhausted when the table is full.
  absl::StatusOr<Epoch> Register(WorkerId worker, absl::Duration length, MonoTime now);
  /// Extends the lease. Idempotent; late and duplicate heartbeats do no harm.
  /// Errors: kNotFound (register again); kAborted (old epoch: drop all attempts, then register
  /// again).
  absl::Status Renew(WorkerId worker, Epoch epoch, MonoTime now);
  /// Says whether this epoch holds a lease, whatever the time. Errors: as Renew.
  absl::Status Check(WorkerId worker, Epoch epoch) const;
  /// Removes and returns, in id order, the workers whose lease ended at or before `now`.
  std::vector<WorkerId> TakeExpired(MonoTime now);
  /// Returns, in id order, the workers that have been silent for `overdue` at `now`; each again
  /// after as long.
  std::vector<SilentWorker> TakeSilent(MonoTime now);
  /// The same for one worker that holds a lease, whether silent or not.
  SilentWorker Ask(WorkerId worker, MonoTime now);
  /// Ends the lease of a worker whose process was found gone. False, and nothing happens, when it
  /// was heard of since it was asked after, or holds that lease no more.
  bool EndLease(const SilentWorker& gone);
  /// Ends the lease of a worker that leaves. Errors: as Renew.
  absl::Status Leave(WorkerId worker, Epoch epoch);
  /// Nothing was heard for `stood` before `now` because the master itself stood still: that time
  /// does not count as the workers' silence.
  void StoodStill(absl::Duration stood, MonoTime now);
  /// When the next worker expires or has been silent for too long; nothing when there is none.
  std::optional<MonoTime> NextWake() const;

 private:
  struct Lease {
    Epoch epoch = 0;
    absl::Duration length;
    MonoTime heard;
    MonoTime asked;  // not after `heard`: not since then
  };
  MonoTime AskAt(const Lease& lease) const { return std::max(lease.heard, lease.asked) + overdue_; }

  const absl::Duration overdue_;
  Epoch next_epoch_;
  absl::btree_map<WorkerId, Lease> leases_;
};

}  // namespace weir::master
