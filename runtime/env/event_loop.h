#pragma once

// The control strand of a process: all its control state lives on one loop. Real: an Asio strand
// (runtime/env/real); tests/sim: a queue under virtual time.

#include <cstdint>

#include "absl/functional/any_invocable.h"
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
