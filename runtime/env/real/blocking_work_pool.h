#pragma once

// Off-strand work of a real process. Upstream: control code that must not block. Downstream:
// threads of runtime/app, which serve the queue.

#include <condition_variable>
#include <deque>
#include <mutex>

#include "runtime/env/event_loop.h"

namespace weir::env {

/// A bounded queue of work, served by whatever threads call Serve.
///
/// Thread-safety: safe.
/// Bounds: kQueuedMax tasks; Run waits for room beyond it, except from a serving thread, which
///   would wait for itself.
class BlockingWorkPool final : public WorkPool {
 public:
  /// A burst of submits of a whole user script fits; more is back-pressure.
  static constexpr std::size_t kQueuedMax = 1024;

  /// Work offered after Close is dropped.
  void Run(Task work) override;
  /// Runs queued work on the calling thread until Close was called and the queue is empty.
  void Serve();
  /// Lets Serve return once the queue is empty.
  void Close();

 private:
  std::mutex mutex_;
  std::condition_variable room_or_closed_;
  std::condition_variable work_or_closed_;
  std::deque<Task> queue_;  // guarded by mutex_
  bool closed_ = false;     // guarded by mutex_
};

}  // namespace weir::env
