#pragma once

// Which machine this is, since it was started. Upstream: PosixStorage, map steps.

#include <cstdint>

namespace weir::env {

/// Returns the same number to all processes of one kernel since its start, in containers too, and
/// another elsewhere; 0 when the kernel does not tell. Thread-safe.
/// Checked by: tests/unit/env/machine_id_test.cc.
std::uint64_t MachineId();

}  // namespace weir::env
