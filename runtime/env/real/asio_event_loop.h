#pragma once

// The control strand of a real process: one thread on one Asio context.
// Upstream: runtime/app makes it and lends it its thread. Downstream: everything that takes an
// env::EventLoop; runtime/transfer takes the Asio context itself for its sockets.

#include <functional>
#include <memory>
#include <vector>

#include "runtime/env/event_loop.h"

namespace asio {
class io_context;
}

namespace weir::env {

/// Event loop and descriptor watcher over one asio::io_context.
///
/// Thread-safety: as EventLoop says; Run and RunUntil on one thread at a time. Tasks that were
/// never run are destroyed with the loop.
class AsioEventLoop final : public EventLoop, public FdWatcher {
 public:
  AsioEventLoop();
  ~AsioEventLoop() override;

  /// Runs tasks on the calling thread until Stop.
  void Run();
  /// Runs tasks on the calling thread until `done` holds (asked between tasks) or Stop is called.
  void RunUntil(const std::function<bool()>& done);
  /// Makes Run return after the current task, or at once when it has not begun. Thread-safe.
  void Stop();

  /// Runs `task` on the loop each time one of the signals arrives, until the loop ends.
  /// Errors: kInvalidArgument for a signal that cannot be caught.
  absl::Status OnSignals(const std::vector<int>& signals, std::function<void(int)> task);

  /// Takes `time` out of this loop's clock: the process stood still for so long, and nothing that
  /// the loop waits for is late by that. On the loop.
  void SkipTime(absl::Duration time);

  /// The context underneath; what runs on it runs on this loop.
  asio::io_context& context();

  MonoTime Now() const override;
  void Post(Task task) override;
  TimerId RunAt(MonoTime when, Task task) override;
  void CancelTimer(TimerId timer) override;
  bool IsCurrent() const override;
  absl::StatusOr<std::unique_ptr<FdWatch>> Watch(int fd) override;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace weir::env
