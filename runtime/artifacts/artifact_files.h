#pragma once

// Artifacts as files: one folder, each named by its hash; what is not whole yet has another name.
// Upstream: ArtifactDepot, ArtifactSupply, the client. Downstream: env::Storage.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/env/storage.h"

namespace weir {

/// What is known of the content of an artifact.
struct ArtifactContent {
  std::string sha256;
  std::int64_t bytes = 0;
};

/// Reads a file and says what it holds. Blocking. Errors: of the file; kResourceExhausted with
/// ARTIFACT_TOO_LARGE when it has more than `bytes_max` bytes.
absl::StatusOr<ArtifactContent> HashFile(env::Storage& storage, const std::string& path,
                                         std::int64_t bytes_max);

/// Checks that a file holds what it should. Blocking. Errors: kNotFound; kDataLoss with
/// ARTIFACT_DAMAGED naming `name` and what was found instead.
absl::Status VerifyArtifact(env::Storage& storage, const std::string& path,
                            const ArtifactContent& expected, const std::string& name);

/// Makes the folder unless it is there, for its owner alone. Blocking.
absl::Status MakeArtifactDirectory(env::Storage& storage, const std::string& directory);

/// Whole artifacts of a folder, by name; removes what was left unfinished. Blocking. Nothing where
/// the folder is not there.
std::vector<ArtifactContent> ListArtifacts(env::Storage& storage, const std::string& directory);

/// The error of an artifact whose content is not what its hash says.
absl::Status DamagedArtifact(const std::string& name, const std::string& what);

}  // namespace weir
