#pragma once

// What a user says of a machine: it counts instead of what was measured, as where a disk is shared
// with others later, or was busy at the start. Upstream: flags (runtime/app). Downstream:
// MachineProfile.

#include "runtime/worker/worker_options.h"

namespace weir::worker {

/// Of one machine, units in the names; 0 = not said.
struct GivenProfile {
  double compute_rate = 0;  // all slots together, in unit workers
  double disk_write_bytes_per_s = 0;
  double disk_read_bytes_per_s = 0;
  double task_start_s = 0;
};

/// Returns the measured profile with what was said in its place; of `slots` each has its part of a
/// compute rate. Pure. Checked by: tests/unit/worker/kept_profile_test.cc.
MachineProfile WithGiven(MachineProfile measured, const GivenProfile& given, int slots);

}  // namespace weir::worker
