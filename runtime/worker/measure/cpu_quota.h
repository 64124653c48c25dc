#pragma once

// How much of the machine's cores a control group leaves to this process.
// Upstream: runtime/app, when a worker measures its machine. Downstream: MeasureCompute.

#include <functional>
#include <optional>
#include <string>

namespace weir::worker {

/// Reads a whole small file; nothing when it cannot be read.
using ReadSmallFile = std::function<std::optional<std::string>(const std::string& path)>;

/// Returns the cores that the CPU quotas of this process's control groups allow, the least of its
/// group and the groups above; nothing when no quota is set or none can be read.
///
/// Model: version 2 has "quota period" or "max period" in cpu.max; version 1 has cpu.cfs_quota_us
///   (-1 = none) and cpu.cfs_period_us. Both are mounted under /sys/fs/cgroup. In a container the
///   path may name a group that is not mounted there; then the groups above it count.
/// Thread-safety: pure, but for `read`.
/// Checked by: tests/unit/worker/cpu_quota_test.cc.
std::optional<double> CpuQuotaCores(const ReadSmallFile& read);

}  // namespace weir::worker
