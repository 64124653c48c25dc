#pragma once

// How task processes are started and watched. Upstream: runtime/app (flags). Downstream:
// runtime/worker/supervise.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "runtime/base/limits.h"
#include "runtime/worker/supervise/control_group.h"
#include "runtime/worker/supervise/task_liveness.h"

namespace weir::worker {

class Zygote;

/// How task processes are started and how long they may stay silent.
struct TaskOptions {
  /// The daemon's own binary by default: one program, so daemon and task are of one version.
  std::string program = "/proc/self/exe";
  /// argv, the program's own name first. The socket to the daemon is descriptor 3.
  std::vector<std::string> arguments = {"weir", "task", "--fd", "3"};
  /// Forks tasks as long as it lives; without one, `program` is executed for each. Not owned.
  Zygote* zygote = nullptr;
  /// The daemon's environment as name and value. Only PATH, HOME, LANG and TZ of it reach a task.
  std::vector<std::pair<std::string, std::string>> environment;
  /// Address space of one task process; 0 = unlimited. Mapped input files count.
  std::int64_t address_space_bytes = 0;
  /// From process start to TaskEvent.Ready. Shorter than the master waits for PrepareJob, so that
  /// it hears the reason instead of its own timeout.
  absl::Duration start_timeout = limits::kTaskStart;
  LivenessBounds liveness;
  /// Where it is read whether the kernel ended a task for want of memory.
  ReadSmallFile read_kernel_file = ReadKernelFile;
  absl::Duration kill_grace = limits::kTaskKillGrace;
};

}  // namespace weir::worker
