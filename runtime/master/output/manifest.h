#pragma once

// manifest.json of an output directory: what a job published, and the proof that Weir wrote the
// directory. Upstream: staged_output, old_output. Downstream: env::Storage.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/result_manifest.h"
#include "runtime/env/storage.h"
#include "weir/v1/job.pb.h"

namespace weir::master {

/// What the manifest says beside the parts.
struct ManifestHead {
  std::string weir_version;
  std::string job_id;
  std::string plan_id;
  v1::JobSpec spec;
};

/// What a manifest is read for again.
struct Manifest {
  std::string job_id;
  std::vector<v1::OutputPart> parts;
};

/// Returns valid UTF-8 whatever the parameters of the job hold.
std::string ManifestText(const ManifestHead& head, const std::vector<v1::OutputPart>& parts);

/// Reads the manifest of a directory. Each part is a plain name of a file in it, of 0 bytes and
/// records at least, whoever wrote the manifest.
/// Errors: as storage; kInvalidArgument when it is not one that ManifestText writes.
/// Checked by: tests/unit/master/manifest_test.cc.
absl::StatusOr<Manifest> ReadManifest(env::Storage& storage, const std::string& directory);

/// Says what is wrong with the first part of a directory's manifest that is not there as a file of
/// the size that was written, as "part-00001 is missing"; nothing where all are.
/// Blocking: one Stat a part. Checked by: tests/unit/master/earlier_results_test.cc.
std::string FaultOfParts(env::Storage& storage, const std::string& directory,
                         const Manifest& manifest);

}  // namespace weir::master
