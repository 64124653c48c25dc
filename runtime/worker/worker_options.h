#pragma once

// What a worker daemon is told at its start. Upstream: runtime/app (flags). Downstream:
// runtime/worker.

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace weir::worker {

/// What a worker knows of its machine (measure/measure_machine.h). Compute rates are relative to
/// the unit worker (measure/compute_kernel.h). 0 = not measured.
struct MachineProfile {
  double slot_compute_rate = 0;  // one slot alone
  double compute_rate = 0;       // all slots together
  std::int64_t available_memory_bytes = 0;
  double disk_write_bytes_per_s = 0;
  double disk_read_bytes_per_s = 0;
  double task_start_s = 0;
};

/// A large task takes seconds to give its memory back once it is killed; one that takes longer than
/// this waits for something that may never come.
inline constexpr absl::Duration kTaskEndPatience = absl::Seconds(10);

/// Half a message (limits::kMessageBytesMax): two million sections.
inline constexpr std::size_t kHeldBytesMax = 32 << 20;

struct WorkerOptions {
  /// Unique in the cluster.
  std::string name;
  /// Existing directory under which the daemon makes its own.
  std::string work_dir;
  int slots = 1;
  /// That it may keep busy, a part of one where a CPU quota says so; 0 = not said.
  double cores = 0;
  /// That a task may hold; 0 = no limit.
  std::int64_t memory_bytes = 0;
  /// Where that is no limit: what a task may have before it puts tables on disk; 0 = all.
  std::int64_t spill_above_bytes = 0;
  /// As the master and the other workers reach this one.
  std::string control_endpoint;
  std::string data_endpoint;
  /// Workers of one value hand runs over as files; empty = never.
  std::string handover_domain;
  std::string version;
  /// A later life of the daemon may use the runs of this one; else nothing is left for it.
  bool runs_outlive = true;
  /// All workers of the cluster are on this machine, so many; 0: others may be elsewhere.
  int workers_on_machine = 0;
  /// What a registration may tell of runs that are kept. Others are let go.
  std::size_t held_bytes_max = kHeldBytesMax;
  /// How long it waits for a master that does not answer before it gives up.
  absl::Duration master_grace = absl::InfiniteDuration();
  /// How long another task of a job is put off because the one before was killed and has not ended.
  absl::Duration task_end_patience = kTaskEndPatience;
  /// As measured at the start, or given; zeros: not measured, which counts as one unit worker a
  /// slot.
  MachineProfile machine;
};

}  // namespace weir::worker
