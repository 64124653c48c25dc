#pragma once

// What a worker tells of its machine when it registers: measured once, at its start, before it
// serves. Upstream: runtime/app (real clock, threads, files). Downstream: WorkerOptions.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/base/mono_time.h"
#include "runtime/env/event_loop.h"
#include "runtime/worker/supervise/control_group.h"
#include "runtime/worker/supervise/task_options.h"
#include "runtime/worker/worker_options.h"

namespace weir::worker {

using Clock = std::function<MonoTime()>;  // thread-safe

/// What MeasureCompute reads time from: the wall's bounds it, the calling thread's processor time
/// makes rates a property of the machine, whatever else runs on it at the moment.
struct ComputeClocks {
  Clock wall;
  Clock thread_cpu;
};

/// Runs the kernel on one slot alone, then on all at once, each for `each` of time, twice; the
/// better of the two counts. Slots share `cores`, which a quota makes a fraction: processor time
/// does not show what a quota takes away.
///
/// Requires: `pool` has at least `slots` threads and nothing else to do; cores > 0.
/// Blocking: for four times `each`.
void MeasureCompute(env::WorkPool& pool, int slots, double cores, const ComputeClocks& clocks,
                    absl::Duration each, MachineProfile& profile);

/// Writes a file in `directory` (synced), drops it from the cache and reads it back.
///
/// Bounds: limits::kDiskProbeBytes, and no new block is begun after limits::kDiskProbeTime. On
/// tmpfs
///   it measures memory, which is what runs there get.
/// Errors: of the file system, naming the directory; the file is gone in any case.
absl::Status MeasureDisk(const std::string& directory, const Clock& clock, MachineProfile& profile);

/// Starts a task process of `job`, waits for its first word and ends it. Blocking: for
/// options.start_timeout at most.
absl::StatusOr<double> MeasureTaskStart(const TaskOptions& options, const std::string& directory,
                                        const std::string& job, const Clock& clock);

/// Returns the less of MemAvailable in the text of /proc/meminfo and of what the control group
/// leaves; 0 when neither is known. Pure.
std::int64_t AvailableMemory(const std::string& meminfo, const std::optional<GroupMemory>& group);

/// The same of this machine, now.
std::int64_t AvailableMemoryHere();

/// What a task may have before it puts tables and pairs on disk, where nobody says how much: six
/// tenths of what is available, for `part` of the machine; 0 when that is not known. Pure.
std::int64_t SpillAbove(std::int64_t available_bytes, double part);

}  // namespace weir::worker
