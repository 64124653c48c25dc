#pragma once

// Where a worker keeps the files of one job. Pure.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/v1/steps.pb.h"

namespace weir::worker {

struct JobPaths {
  std::string root;
  std::string runs;      // made by the task
  std::string received;  // fetched, or linked from other workers
  std::string task;      // the task's current directory and TMPDIR
  std::string archives;  // that came with the job; the task unpacks them

  std::string OwnRun(absl::string_view run_id) const;
  std::string HandedOverRun(absl::string_view run_id) const;
  /// One section of a fetched run. The offset, not the consumer, names it: both its grants and the
  /// step that reads it carry the offset.
  std::string ReceivedSection(absl::string_view run_id, std::int64_t section_offset) const;
  /// What the task was told for a step; beside its run.
  std::string Spec(absl::string_view run_id) const;
  /// What the daemon's next life has to know of a run (held_records.h); beside it.
  std::string HeldRecord(absl::string_view run_id) const;
};

JobPaths MakeJobPaths(absl::string_view worker_directory, absl::string_view job_id);

/// Ends the names of JobPaths::HeldRecord.
inline constexpr char kHeldRecordSuffix[] = ".held";

/// Checks an id that becomes part of file names, since it comes from the network.
/// Errors: kInvalidArgument.
absl::Status CheckRunId(absl::string_view run_id);

/// Fills in path and path_offset of each input. Errors: kInvalidArgument (run id, place, negative
/// range).
absl::Status ResolveInputs(const JobPaths& paths, v1::StepOrder& order);

/// Returns the absolute path of a part inside `staging_dir`.
/// Errors: kInvalidArgument when it would be outside.
absl::StatusOr<std::string> PartPathInside(absl::string_view staging_dir,
                                           absl::string_view part_path);

/// Checks that a run to be handed over is named as runs are; nothing else may be linked.
/// Errors: kInvalidArgument.
absl::Status CheckHandoverSource(absl::string_view source_run_path, absl::string_view run_id);

}  // namespace weir::worker
