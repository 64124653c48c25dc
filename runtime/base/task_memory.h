#pragma once

// How much memory the task of a job may have, and what of it before steps put tables and pairs on
// disk. Pure. Upstream: the worker, which tells its tasks; the master, which predicts from it what
// steps will put there (docs/adr/0039-steps-put-on-disk-what-memory-does-not-hold.md).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace weir {

/// Counter of what steps put on disk: the bytes of the files.
inline constexpr std::string_view kSpilledBytes = "spilled_bytes";

/// Returns what a task may have of the limit that the operator gave to its worker, for `share` of
/// it; 0 = no limit. A share of 0 is an older master's: all. Requires: share in [0, 1].
inline std::int64_t MemoryOfTask(std::int64_t limit_bytes, double share) {
  if (share == 0 || limit_bytes == 0) return limit_bytes;
  // 0 would be no limit.
  return std::max<std::int64_t>(1, std::llround(share * static_cast<double>(limit_bytes)));
}

/// Returns what of a task's memory tables and pairs may have: the program itself and its buffers
/// take some 40 MiB, or half of less than 80.
inline std::int64_t SpillAboveOf(std::int64_t task_bytes) {
  constexpr std::int64_t kProgramBytes = 40 << 20;
  return task_bytes - std::min(kProgramBytes, task_bytes / 2);
}

/// Whether runs of a job may refer to records of its input (StepContext::refers_to_input), where
/// all its workers are on one machine. A step that reads what all of them made then has at most
/// half of what steps may have before they put tables on disk (`spill_above_bytes`; 0 = all) in
/// mapped input. An input of 0 bytes is of a size that is not known.
inline bool MayReferToInput(std::int64_t input_bytes, std::int64_t spill_above_bytes) {
  return input_bytes > 0 && (spill_above_bytes <= 0 || input_bytes <= spill_above_bytes / 2);
}

}  // namespace weir
