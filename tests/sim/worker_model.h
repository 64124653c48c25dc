#pragma once

// What a simulated worker is like. Upstream: scenarios, tests. Downstream: SimTask, DataPlane.

#include <cstdint>
#include <string>

#include "absl/time/time.h"

namespace weir::sim {

/// What a worker is and how long its work takes.
struct WorkerModel {
  std::string name;
  std::int32_t slots = 1;
  std::string handover_domain;
  double map_seconds_per_byte = 4e-9;
  double map_output_ratio = 0.05;
  double reduce_seconds_per_byte = 1e-8;
  double combine_seconds_per_byte = 4e-9;  // as an ElementInfo has it that says nothing
  double output_ratio = 1;
  double channel_seconds_per_byte = 1 / 1.25e8;
  double store_seconds_per_byte = 1 / 1.25e8;
  /// How much slower than the model it computes, sends and receives.
  double slowness = 1;
  /// Which start of its machine this is; the world says so (World::CutPower).
  std::uint64_t machine_start = 1;
};

/// Faults that are switched on and off while it runs.
struct WorkerFaults {
  bool disk_full = false;
  bool task_crashes = false;
  bool user_errors = false;  // the job's code fails there, and its task lives on
  bool task_is_killed_for_memory = false;
  bool task_hangs = false;            // each that begins a step from now on
  absl::Duration task_outlives_kill;  // those that hung: for so long they wait for a disk
  bool unpacking_fails = false;       // of archives, by its work directory, as a task starts
  double cpu_slowness = 1;            // of steps that begin from now on
  double network_slowness = 1;        // of what begins to move from now on
  bool healed = false;                // something of this was switched on once, and off again
};

}  // namespace weir::sim
