#pragma once

// The control strand of a process: all its control state lives on one loop. Real: an Asio strand
// (runtime/env/real); tests/sim: a queue under virtual time.

#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "runtime/base/mono_time.h"

namespace weir::env {

using Task = absl::AnyInvocable<void()>;

/// Runs functions one after another, never two at once.
class EventLoop {
 public:
  using TimerId = std::uint64_t;

  virtual ~EventLoop() = default;
  /// Returns the time of the current turn. Thread-safe.
  virtual MonoTime Now() const = 0;
  /// Queues `task` behind what is queued already; never runs it at once. Thread-safe.
  virtual void Post(Task task) = 0;
  /// Runs `task` on the loop at `when` or soon after. Equal times run in the order they were asked
  /// for. On the loop only.
  virtual TimerId RunAt(MonoTime when, Task task) = 0;
  /// Forgets a timer; does nothing when it already ran. On the loop only.
  virtual void CancelTimer(TimerId timer) = 0;
  /// True when called from the loop.
  virtual bool IsCurrent() const = 0;
};

/// One descriptor under watch. Callbacks run once, on the loop, never inside the call that asks for
/// them; asking again for the same kind replaces the earlier one. Destroying it forgets both;
/// destroy it before the descriptor is closed. The descriptor stays the caller's. On the loop only.
class FdWatch {
 public:
  virtual ~FdWatch() = default;
  /// Runs `task` as soon as a read would not block: data, end of stream, error, or, for a pidfd,
  /// the end of the process. It may run for nothing: ask the descriptor, and watch again.
  virtual void OnceReadable(Task task) = 0;
  /// Runs `task` as soon as a write would not block: room, or an error.
  virtual void OnceWritable(Task task) = 0;
};

/// Waits for pipes, sockets and pidfds without a thread. Real: the loop's own poller
/// (runtime/env/real).
class FdWatcher {
 public:
  virtual ~FdWatcher() = default;
  /// Starts to watch an open descriptor; at most one watch a descriptor. On the loop only.
  /// Errors: kResourceExhausted when the kernel has no room for one more.
  virtual absl::StatusOr<std::unique_ptr<FdWatch>> Watch(int fd) = 0;
};

/// Runs blocking or long work off the control strand. Real: a bounded thread pool; tests/sim: in
/// line, later.
class WorkPool {
 public:
  virtual ~WorkPool() = default;
  /// Thread-safe. The work posts its outcome back to a loop by itself.
  virtual void Run(Task work) = 0;
};

/// Source of ids and tokens. Real: the kernel's entropy; tests/sim: the seed.
class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t Next() = 0;
};

/// Wall-clock time, for records and logs only.
class WallClock {
 public:
  virtual ~WallClock() = default;
  virtual std::int64_t UnixMillis() const = 0;
};

}  // namespace weir::env
