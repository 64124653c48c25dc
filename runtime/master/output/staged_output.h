#pragma once

// The output directory: absent or complete. Parts are staged beside it, checked, listed in a
// manifest and renamed into place. Blocking: on a WorkPool. Upstream: JobRun. Downstream:
// env::Storage.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/env/storage.h"
#include "weir/v1/job.pb.h"

namespace weir::master {

/// Names of everything that a job's output goes through.
struct OutputPlaces {
  OutputPlaces(const std::string& output_path, const std::string& job_id);
  std::string output;    // without trailing slashes
  std::string staging;   // <output>.weir-staging-<job>
  std::string marker;    // in staging; workers look for it to see that they share the file system
  std::string replaced;  // <output>.weir-old-<job>: the old output during an overwrite
};

/// "part-00003", and its name while only attempt `attempt` vouches for it: "part-00003.1".
std::string PartName(int index);
std::string StagedPartName(int index, int attempt);

/// One part that a committed attempt wrote.
struct CommittedPart {
  int index = 0;
  int attempt = 1;
  v1::OutputPart part;
};

/// What the manifest says beside the parts.
struct ManifestHead {
  std::string weir_version;
  std::string job_id;
  std::string plan_id;
  v1::JobSpec spec;
};

/// Checks that the output may be written: absolute, its parent exists, it does not exist itself
/// unless `overwrite`. Errors, with a JobError: OUTPUT_EXISTS, INVALID_JOB, INPUT_UNREADABLE's kin
/// as told by storage.
absl::Status CheckOutput(env::Storage& storage, const v1::JobSpec& spec);

/// Makes the staging directory with its marker. Errors: as CheckOutput, and DISK_FULL.
absl::Status StageOutput(env::Storage& storage, const OutputPlaces& places, bool overwrite);

/// Publishes the parts: checks their sizes, gives them their final names, drops what no committed
/// attempt wrote, writes the manifest, syncs, renames staging to output. Returns the parts by
/// index. Failure semantics: a second call after a crash anywhere inside ends the same way; the old
/// output of
///   an overwrite is put back when the new one cannot take its place.
/// Errors: DATA_LOSS when a part is missing or of another size than reported; OUTPUT_EXISTS;
/// DISK_FULL. Checked by: tests/unit/master/staged_output_test.cc (a crash after every Storage
/// call).
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
