#pragma once

// The slots of a task process. Upstream: threads from TaskEnvironment. Downstream: the engine, by
// SlotPool.

#include <functional>
#include <memory>

#include "jobs/api/program.h"
#include "runtime/task/task_environment.h"

namespace weir::task {

/// Keeps num_slots - 1 threads waiting; the caller of RunOnAll is slot 0.
///
/// Thread-safety: RunOnAll by one thread at a time, not from inside a body.
/// Failure semantics: when bodies throw, RunOnAll waits for all and throws the first exception on.
/// Ownership: the destructor returns once every thread has left its body for good.
/// Checked by: tests/unit/task/slot_threads_test.cc.
class SlotThreads : public SlotPool {
 public:
  /// Requires: num_slots >= 1. Throws what start_thread does, once those that it has started have
  /// left their bodies.
  SlotThreads(int num_slots, const TaskEnvironment& environment);
  ~SlotThreads() override;
  SlotThreads(const SlotThreads&) = delete;
  SlotThreads& operator=(const SlotThreads&) = delete;

  int num_slots() const override;
  void RunOnAll(const std::function<void(int slot)>& body) override;

 private:
  struct State;
  void End();
  // Shared with the threads, because the last of them may still hold the lock when the destructor
  // is told that it is done.
  std::shared_ptr<State> state_;
};

}  // namespace weir::task
