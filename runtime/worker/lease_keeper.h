#pragma once

// Decides when a worker registers, sends heartbeats, and gives its jobs up. Pure.
// Upstream: answers of the master, time. Downstream: WorkerDaemon carries the actions out.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/base/mono_time.h"
#include "runtime/env/event_loop.h"
#include "weir/v1/services.pb.h"

namespace weir::worker {

/// What the master granted.
struct Registration {
  std::int64_t worker_id = 0;
  std::int64_t worker_epoch = 0;
  std::int64_t master_epoch = 0;
  absl::Duration lease;
  absl::Duration heartbeat;
};

enum class LeaseAction {
  kRegister,
  kHeartbeat,
  /// The master has given this worker up, or will have by the time it hears of it again: end all
  /// jobs.
  kDropJobs,
  /// The master has been away for longer than this worker waits: leave. Asked for once.
  kGiveUp,
};

/// Holds a worker's side of its lease.
///
/// The lease is counted from the moment a call that renewed it was sent, so it ends here no later
/// than at the master: a worker that was merely stopped drops its jobs before it says another word.
/// Registration is tried with growing, jittered pauses, so that a daemon outlives any number of
/// masters; when none has answered for `master_grace`, it gives up. A master that refuses is there.
/// Time: passed in; must not go backwards. At most one call is outstanding; each must be answered
/// by
///   the matching On... method.
/// Checked by: tests/unit/worker/lease_keeper_test.cc.
class LeaseKeeper {
 public:
  explicit LeaseKeeper(env::Random& random, absl::Duration master_grace = absl::InfiniteDuration())
      : random_(random), master_grace_(master_grace) {}

  /// Returns what is due at `now`, in order. Call at the start, after each answer, and at
  /// NextWake().
  std::vector<LeaseAction> Advance(MonoTime now);
  /// Returns when Advance has something to do though no answer comes; none while one is awaited
  /// that alone can change anything.
  std::optional<MonoTime> NextWake() const;

  /// Has something to say: the next heartbeat is due at `now`.
  void BeatSoon(MonoTime now) { next_heartbeat_ = now; }
  /// Takes the answer to kRegister. An answer that cannot be right counts as a failure, and is
  /// returned as one.
  absl::Status OnRegisterAnswer(const absl::StatusOr<v1::RegisterResponse>& answer, MonoTime now);
  /// Takes the answer to kHeartbeat. kNotFound and kAborted end the registration; other failures
  /// only matter when they last as long as the lease.
  void OnHeartbeatAnswer(const absl::Status& answer, MonoTime now);

  /// Set while registered.
  const std::optional<Registration>& registration() const { return registration_; }
  /// Deadline for the next heartbeat call: several fit into one lease.
  absl::Duration HeartbeatTimeout() const;

 private:
  void RetryLater(MonoTime now);
  void Lose(MonoTime now);

  env::Random& random_;
  const absl::Duration master_grace_;
  std::optional<Registration> registration_;
  std::optional<MonoTime> away_since_;  // of the master, as far as is known
  bool tried_ = false;                  // to register, since then
  bool given_up_ = false;
  bool drop_jobs_ = false;
  bool register_sent_ = false;
  bool heartbeat_sent_ = false;
  MonoTime sent_;
  MonoTime lease_end_;
  MonoTime next_heartbeat_;
  MonoTime next_register_;
  absl::Duration pause_;
};

}  // namespace weir::worker
