#pragma once

// manifest.json of an output directory: what a job published, and the proof that Weir wrote the
// directory. Upstream: staged_output, old_output. Downstream: env::Storage.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/env/storage.h"
#include "weir/v1/job.pb.h"

namespace weir::master {

inline constexpr char kManifestName[] = "manifest.json";

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

/// Reads the manifest of a directory. Errors: as storage; kInvalidArgument when it is not one that
/// ManifestText writes.
absl::StatusOr<Manifest> ReadManifest(env::Storage& storage, const std::string& directory);

}  // namespace weir::master
