#pragma once

// What a task process needs from its surroundings. Upstream: runtime/app, the only one that makes
// threads and reads clocks.

#include <functional>

#include "runtime/base/mono_time.h"

namespace weir::task {

struct TaskEnvironment {
  /// Starts a thread that runs `body` once. Every body that the task hands in ends by itself before
  /// RunTask and RunTaskSpec return. Throws std::system_error where no thread is to be had.
  std::function<void(std::function<void()> body)> start_thread;
  std::function<MonoTime()> now;
};

}  // namespace weir::task
