#pragma once

// The output directory: absent or complete. Parts are staged beside it, checked, listed in a
// manifest and renamed into place; an old output goes in the same step. Blocking: on a WorkPool.
// Upstream: JobRun. Downstream: env::Storage.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/env/storage.h"
#include "runtime/master/output/manifest.h"
#include "runtime/master/output/output_places.h"
#include "weir/v1/job.pb.h"

namespace weir::master {

/// One part that a committed attempt wrote.
struct CommittedPart {
  int index = 0;
  std::int64_t plan_epoch = 1;
  int attempt = 1;
  v1::OutputPart part;
  std::string worker = {};  // who told of it
};

/// Checks that the output may be written: its parent exists, and it does not exist itself unless
/// the job overwrites and nothing would be lost (ForeignEntries) or stand in the way (a mount
/// point). Errors, with a JobError: OUTPUT_EXISTS, OUTPUT_UNUSABLE, INVALID_JOB.
absl::Status CheckOutput(env::Storage& storage, const v1::JobSpec& spec);

/// Makes the staging directory with its marker and tries on its file system what CommitOutput will
/// do (ProbeOutput). Errors: as CheckOutput, and DISK_FULL.
absl::Status StageOutput(env::Storage& storage, const OutputPlaces& places, bool overwrite);

/// Publishes the parts: checks their sizes, gives them their final names, drops what no committed
/// attempt wrote, writes the manifest, syncs, renames staging to output. Returns the parts by
/// index.
///
/// An overwrite exchanges staging and output in one step where the file system can; elsewhere it
/// takes two renames, between which there is no output. The old output is deleted unless something
/// foreign appeared in it (RetireOldOutput).
/// Failure semantics: a second call after a crash anywhere inside ends the same way; the old output
///   of an overwrite is put back when the new one cannot take its place, and by SettleOutput or
///   RestoreOldOutput after a crash.
/// Errors: DATA_LOSS when a part is missing or of another size than reported, which is its worker's
///   fault (JobError.fault_of) where others wrote as they said, or nobody else wrote: then nothing
///   has changed, and another plan may write parts beside these; OUTPUT_EXISTS; OUTPUT_UNUSABLE;
///   DISK_FULL.
/// Checked by: tests/unit/master/staged_output_test.cc (a crash after every Storage call, with and
///   without exchange).
absl::StatusOr<std::vector<v1::OutputPart>> CommitOutput(env::Storage& storage,
                                                         const OutputPlaces& places, bool overwrite,
                                                         const ManifestHead& head,
                                                         std::vector<CommittedPart> parts);

/// Removes the staging directory. Not existing is success.
absl::Status DiscardOutput(env::Storage& storage, const OutputPlaces& places);

/// Says how the output of a job stands that a dead master left in COMMITTING, and tidies up: parts
/// of the manifest when it was published, nothing when it was not (the old output is then back).
absl::StatusOr<std::vector<v1::OutputPart>> SettleOutput(env::Storage& storage,
                                                         const OutputPlaces& places,
                                                         const std::string& job_id);

}  // namespace weir::master
