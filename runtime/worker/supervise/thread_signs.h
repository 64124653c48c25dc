#pragma once

// What the kernel shows of the threads of a task. Upstream: TaskSupervisor. Downstream: /proc.

#include <sys/types.h>

#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/worker/supervise/task_liveness.h"

namespace weir::worker {

/// Returns the threads of the process but its first, which only talks to the daemon, and those of
/// all processes that they started. Empty where the process is gone or /proc shows nothing.
/// Bounds: kThreadsMax threads; the rest is left out.
std::vector<ThreadSign> ReadThreadSigns(pid_t task);

inline constexpr int kThreadsMax = 4096;

/// Reads one line of /proc/PID/task/TID/stat. Nothing when it is not one. Pure.
std::optional<ThreadSign> ParseThreadStat(absl::string_view stat, long ticks_per_s);

}  // namespace weir::worker
