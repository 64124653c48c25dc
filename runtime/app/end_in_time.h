#pragma once

// How a daemon ends that waits for something that never answers. Upstream: daemons that have
// stopped.

#include <condition_variable>
#include <mutex>

#include "absl/time/time.h"
#include "runtime/app/threads.h"

namespace weir::app {

/// Ends the process by _exit where what was made after this is not destroyed in time.
///
/// Pools are joined where they are destroyed, and nothing calls back a thread whose path lies on a
/// file system that never answers, or that plans for a master which is gone. Who is told to stop
/// has said by then what others need; the rest is as after a crash, which the next one bears.
/// Thread-safety: one thread makes, begins and destroys it.
/// Checked by: tests/integration/interrupt_test.py (-k never_opens).
class EndInTime {
 public:
  EndInTime() = default;
  /// In time: nothing happens any more.
  ~EndInTime();
  EndInTime(const EndInTime&) = delete;
  EndInTime& operator=(const EndInTime&) = delete;

  /// From now on this has `patience`; then the process ends with `code`. Call at most once.
  void Begin(int code, absl::Duration patience);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool in_time_ = false;  // guarded by mutex_
  Threads threads_;
};

/// What a daemon has for that once it has stopped: long enough for files that are being removed.
inline constexpr absl::Duration kEndPatience = absl::Seconds(10);

}  // namespace weir::app
