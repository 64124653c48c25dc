#pragma once

// Lists inputs off the loop, where one of them may lie on a disk that never answers. Upstream:
// CheckSubmission, JobRun. Downstream: a pool of its own, input expansion.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/env/callback_scope.h"
#include "runtime/env/event_loop.h"
#include "runtime/env/pool_turn.h"
#include "runtime/master/input/input_ranges.h"

namespace weir::master {

/// Which path a listing looks at. Set by the thread that lists, read by the loop.
/// Thread-safety: safe.
class PathLookedAt {
 public:
  void Set(const std::string& path) {
    const std::lock_guard lock(mutex_);
    path_ = path;
  }
  std::string Get() const {
    const std::lock_guard lock(mutex_);
    return path_;
  }

 private:
  mutable std::mutex mutex_;
  std::string path_;  // guarded by mutex_
};

/// How long a listing may take that is under way: a million files on a slow file system take
/// minutes.
inline constexpr absl::Duration kListingMax = absl::Minutes(10);

/// Has inputs listed, and answers for those that take too long.
///
/// A listing whose path does not answer keeps its thread of the pool until it does. One that waits
/// behind such ones is given up without having begun, and never begins.
/// Thread-safety: on the loop only. Bounds: limits::kListingsMax in the pool, where Room is asked.
/// Time: a listing has `patience.waits` from List on to begin, and once it has begun
///   `patience.lists` from List on: many files on a slow file system take minutes.
/// Checked by: tests/unit/master/input_lister_test.cc, slow_storage_test.cc.
class InputLister {
 public:
  /// What lists: on the pool. It says which path it goes on to.
  using Work = absl::AnyInvocable<absl::StatusOr<InputList>(PathLookedAt&)>;
  using Done = absl::AnyInvocable<void(absl::StatusOr<InputList>)>;
  /// waits <= lists.
  struct Patience {
    absl::Duration waits;
    absl::Duration lists;
  };

  InputLister(env::EventLoop& loop, env::WorkPool& pool) : loop_(loop), pool_(pool) {}
  ~InputLister();

  /// Whether one more may be asked for. Errors: kResourceExhausted, with a JobError that names what
  /// is waited for.
  absl::Status Room() const;
  /// `done` once, on the loop, later, unless this is destroyed before. Errors: those of `work`;
  /// with a JobError DEADLINE, kDeadlineExceeded (a path does not answer, which is named) and
  /// kResourceExhausted (all threads wait for other paths, one of which is named).
  void List(Patience patience, Work work, Done done);

 private:
  /// What the pool knows of a listing.
  struct Shared {
    env::PoolTurn turn;
    PathLookedAt path;
  };
  struct Listing {
    std::shared_ptr<Shared> shared;
    Done done;  // null: answered
    std::optional<env::EventLoop::TimerId> timer;
  };

  /// Nobody waits for it longer than that; one that is under way has until `lists`.
  void EndPatience(std::int64_t id, Patience patience);
  void RunAfter(std::int64_t id, absl::Duration patience, env::Task end);
  void GiveUp(std::int64_t id, absl::Duration waited);
  /// It is out of the pool: through, or given up before.
  void Left(std::int64_t id, absl::StatusOr<InputList> input);
  /// Of the listing that has been under way for longest; empty: none is.
  std::string PathAwaited() const;

  env::EventLoop& loop_;
  env::WorkPool& pool_;
  absl::btree_map<std::int64_t, Listing> listings_;  // in the pool
  std::int64_t last_id_ = 0;
  env::CallbackScope callbacks_;
};

}  // namespace weir::master
