#pragma once

// What the journal says of a job that ran when its master ended. Pure. Upstream: ReadHistory.
// Downstream: JobRun, ResumeRun.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/btree_map.h"
#include "weir/v1/journal.pb.h"
#include "weir/v1/plan.pb.h"

namespace weir::master {

/// The plan that ran last, with its last edit, and what was done of it. Plain data.
struct JournalledRun {
  v1::Plan plan;
  std::int64_t master_epoch = 0;
  std::int64_t plan_epoch = 0;
  std::uint64_t input_fingerprint = 0;
  std::int64_t began_unix_ms = 0;  // 0: it was not seen to run
  /// By step: what counts of it, whoever made it.
  absl::btree_map<std::int32_t, v1::JournalRecord::StepCommitted> committed;
  /// By step: the edit that had it done again last. Runs that were ordered before it do not count.
  absl::btree_map<std::int32_t, std::int32_t> redone_by_edit;
  /// By step: the last attempt before the plan was gone on with that does not count, nor do those
  /// before it. Workers that keep such runs count them as made before all edits of the plan.
  absl::btree_map<std::int32_t, std::int32_t> stale_attempts;
};

/// Reads it from the records of one job, in their order. None: the job was not planned, or its plan
/// is a loop, which is not edited, or does not say which master made it.
std::optional<JournalledRun> LastRun(const std::vector<v1::JournalRecord>& records);

}  // namespace weir::master
