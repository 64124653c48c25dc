#pragma once

// What a worker daemon is told at its start. Upstream: runtime/app (flags). Downstream:
// runtime/worker.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "runtime/base/limits.h"

namespace weir::worker {

/// How task processes are started and how long they may stay silent.
struct TaskOptions {
  /// The daemon's own binary by default: one program, so daemon and task are of one version.
  std::string program = "/proc/self/exe";
  /// argv, the program's own name first. The socket to the daemon is descriptor 3.
  std::vector<std::string> arguments = {"weir", "task", "--fd", "3"};
  /// The daemon's environment as name and value. Only PATH, HOME, LANG and TZ of it reach a task.
  std::vector<std::pair<std::string, std::string>> environment;
  /// Address space of one task process; 0 = unlimited. Mapped input files count.
  std::int64_t address_space_bytes = 0;
  /// From process start to TaskEvent.Ready. Shorter than the master waits for PrepareJob, so that
  /// it hears the reason instead of its own timeout.
  absl::Duration start_timeout = limits::kTaskStart;
  absl::Duration silence = limits::kTaskSilence;
  absl::Duration kill_grace = limits::kTaskKillGrace;
};

/// What a worker knows of its machine (measure_machine.h). Compute rates are relative to the unit
/// worker (compute_kernel.h). 0 = not measured.
struct MachineProfile {
  double slot_compute_rate = 0;  // one slot alone
  double compute_rate = 0;       // all slots together
  std::int64_t available_memory_bytes = 0;
  double disk_write_bytes_per_s = 0;
  double disk_read_bytes_per_s = 0;
  double task_start_s = 0;
};

struct WorkerOptions {
  /// Unique in the cluster.
  std::string name;
  /// Existing directory under which the daemon makes its own.
  std::string work_dir;
  int slots = 1;
  std::int64_t memory_bytes = 0;
  /// As the master and the other workers reach this one.
  std::string control_endpoint;
  std::string data_endpoint;
  /// Workers of one value hand runs over as files; empty = never.
  std::string handover_domain;
  std::string version;
  /// As measured at the start, or given; zeros: not measured, which counts as one unit worker a
  /// slot.
  MachineProfile machine;
  TaskOptions task;
};

}  // namespace weir::worker
