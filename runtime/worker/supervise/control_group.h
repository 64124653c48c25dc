#pragma once

// What the control groups of this process leave to it, and whether the kernel ended something for
// it. Upstream: TaskSupervisor (why a task died), measure (what a worker has), runtime/app.
// Downstream: /proc and /sys/fs/cgroup.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace weir::worker {

/// Reads a whole small file; nothing when it cannot be read.
using ReadSmallFile = std::function<std::optional<std::string>(const std::string& path)>;

/// Reads a file of the kernel, up to 64 KiB of it.
std::optional<std::string> ReadKernelFile(const std::string& path);

/// One control group as a directory.
struct ControlGroup {
  std::string directory;
  bool version_one = false;
};

/// Returns the groups of this process in which `controller` counts, each followed by those above
/// it.
///
/// Model: /proc/self/cgroup names the groups; both versions are mounted under /sys/fs/cgroup. In a
///   container the path may name a group that is not mounted there; then the groups above it count.
/// Checked by: tests/unit/worker/control_group_test.cc, cpu_quota_test.cc.
std::vector<ControlGroup> ControlGroupsOf(absl::string_view controller, const ReadSmallFile& read);

/// The memory of the group that leaves the least.
struct GroupMemory {
  std::string group;  // its directory
  std::int64_t limit_bytes = 0;
  /// Of the limit, what is not used but for the cache of files, which makes room.
  std::int64_t available_bytes = 0;
};

/// Returns the least of the limits of this process's group and those above it; nothing when there
/// is no limit.
std::optional<GroupMemory> ControlGroupMemory(const ReadSmallFile& read);

/// Returns how often the kernel has ended a process for want of memory: in the groups of this
/// process, and on the whole machine. What the kernel does not count is 0.
struct OomKills {
  std::int64_t in_group = 0;
  std::int64_t on_machine = 0;
};
OomKills CountOomKills(const ReadSmallFile& read);

}  // namespace weir::worker
