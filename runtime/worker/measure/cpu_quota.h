#pragma once

// How much of the machine's cores a control group leaves to this process.
// Upstream: runtime/app, when a worker measures its machine. Downstream: MeasureCompute.

#include <optional>

#include "runtime/worker/supervise/control_group.h"

namespace weir::worker {

/// Returns the cores that the CPU quotas of this process's control groups allow, the least of its
/// group and the groups above; nothing when no quota is set or none can be read.
///
/// Model: version 2 has "quota period" or "max period" in cpu.max; version 1 has cpu.cfs_quota_us
///   (-1 = none) and cpu.cfs_period_us.
/// Thread-safety: pure, but for `read`.
/// Checked by: tests/unit/worker/cpu_quota_test.cc.
std::optional<double> CpuQuotaCores(const ReadSmallFile& read);

/// Returns how many threads keep `cores` busy under a quota: a part of a core needs a thread too.
int ThreadsFor(int cores, std::optional<double> quota_cores);

}  // namespace weir::worker
