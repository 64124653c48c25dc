#pragma once

// Off-strand work of a real process. Upstream: control code that must not block. Downstream:
// threads of runtime/app, which serve the queue.

#include <deque>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "runtime/env/event_loop.h"

namespace weir::env {

/// A bounded queue of work, served by whatever threads call Serve.
///
/// Bounds: kQueuedMax tasks; Run waits for room beyond it, except from a serving thread, which
/// would
///   wait for itself. Thread-safe.
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
  bool HasRoom() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool HasWorkOrClosed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  std::deque<Task> queue_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weir::env
