#pragma once

// What the master must not forget. Upstream: Master, through JournalWriter. Downstream:
// SqliteJournal (journal_sqlite.h); tests and tests/sim keep the records in memory.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "weir/v1/journal.pb.h"

namespace weir::master {

/// What forgotten jobs have taught: as many records as a master knows of (ShapeHistory), of a kind
/// of job as many kinds of data, and no more bytes than are read at a start without being noticed.
/// The oldest go first.
inline constexpr std::int64_t kShapesOutliveMax = 500;
inline constexpr std::int64_t kDataKindsOutliveMax = 8;
inline constexpr std::int64_t kShapeBytesOutliveMax = 8 << 20;

/// Keeps journal records in the order they were written.
///
/// Thread-safety: one call at a time, from any thread. Blocking: every call; use a WorkPool.
class Journal {
 public:
  virtual ~Journal() = default;
  /// Where people find it. Never blocks, from any thread.
  virtual std::string Place() const { return "the journal"; }
  /// Makes all records durable, or none. Returns only when they would survive a power cut. Of a
  /// JobPlanned behind which another one of its job comes plan and losses may be dropped: each edit
  /// makes a whole plan and names all losses so far, and only the last is asked for. Of a job that
  /// has ended no StepCommitted need stay: nobody goes on from its runs.
  /// Errors: kResourceExhausted (disk full), kUnavailable (cannot be written), kDataLoss (damaged).
  virtual absl::Status Append(absl::Span<const v1::JournalRecord> records) = 0;
  /// Calls `visit` with every record but JobPlanGiven, JobPlanned and StepCommitted, oldest first;
  /// the logs of JobEnded are left out. Errors: kDataLoss naming the file and what to do.
  virtual absl::Status ReadHistory(absl::FunctionRef<void(const v1::JournalRecord&)> visit) = 0;
  /// Returns every record of one job, oldest first; empty when it has none. Of plans, and the
  /// losses that they name, only the last is sure to be whole.
  virtual absl::StatusOr<std::vector<v1::JournalRecord>> ReadJob(const std::string& job_id) = 0;
  /// Returns the last record that one job has of each of these kinds, in their order, and reads no
  /// other: a job may have many. Of kinds that it has none of there is none.
  virtual absl::StatusOr<std::vector<v1::JournalRecord>> ReadLast(
      const std::string& job_id, absl::Span<const v1::JournalRecord::RecordCase> kinds) = 0;
  /// Drops all records of these jobs but what they taught (JobShapeLearned), which outlives them as
  /// far as kShapesOutliveMax, kDataKindsOutliveMax and kShapeBytesOutliveMax allow: of jobs of a
  /// kind the last on each kind of data. Not existing is success.
  virtual absl::Status Forget(absl::Span<const std::string> job_ids) = 0;
};

}  // namespace weir::master
