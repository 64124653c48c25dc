#include "runtime/artifacts/artifact_files.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/artifacts/sha256.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"

namespace weir {

absl::StatusOr<ArtifactContent> HashFile(env::Storage& storage, const std::string& path,
                                         std::int64_t bytes_max) {
  Sha256Stream hash;
  ArtifactContent content;
  while (true) {
    const auto piece = storage.ReadAt(path, content.bytes, limits::kArtifactPieceBytes);
    if (!piece.ok()) return piece.status();
    if (piece->empty()) break;
    hash.Update(*piece);
    content.bytes += static_cast<std::int64_t>(piece->size());
    if (content.bytes > bytes_max) {
      return StatusFromJobError(
          absl::StatusCode::kResourceExhausted,
          MakeJobError(job_error::kArtifactTooLarge,
                       absl::StrCat(path, " has more than ", bytes_max, " bytes, the most that an ",
                                    "artifact may have"),
                       "ship less with the job; what is data belongs into its inputs"));
    }
  }
  content.sha256 = hash.Finish();
  return content;
}

absl::Status DamagedArtifact(const std::string& name, const std::string& what) {
  return StatusFromJobError(
      absl::StatusCode::kDataLoss,
      MakeJobError(job_error::kArtifactDamaged,
                   absl::StrCat("artifact ", name, " is damaged: ", what),
                   "submit the job again; if that does not help, look at the disks"));
}

absl::Status VerifyArtifact(env::Storage& storage, const std::string& path,
                            const ArtifactContent& expected, const std::string& name) {
  const auto found = HashFile(storage, path, limits::kArtifactBytesMax);
  if (!found.ok()) {
    if (!CarriesJobError(found.status())) return found.status();
    return DamagedArtifact(name, "the file has grown");
  }
  if (found->sha256 == expected.sha256 && found->bytes == expected.bytes) return absl::OkStatus();
  return DamagedArtifact(
      name, absl::StrCat("it has ", found->bytes, " bytes with SHA-256 ", found->sha256,
                         ", expected were ", expected.bytes, " with ", expected.sha256));
}

absl::Status MakeArtifactDirectory(env::Storage& storage, const std::string& directory) {
  const absl::Status made = storage.MakeDirectory(directory);
  if (absl::IsAlreadyExists(made)) return absl::OkStatus();
  return made.ok() ? storage.MakePrivate(directory) : made;
}

std::vector<ArtifactContent> ListArtifacts(env::Storage& storage, const std::string& directory) {
  std::vector<ArtifactContent> whole;
  const auto entries = storage.List(directory);
  if (!entries.ok()) return whole;
  for (const env::FileInfo& entry : *entries) {
    const std::string name = entry.path.substr(entry.path.rfind('/') + 1);
    if (entry.is_regular && IsSha256(name)) {
      whole.push_back({name, entry.bytes});
    } else if (entry.is_regular && absl::EndsWith(name, ".part")) {
      storage.RemoveAll(entry.path).IgnoreError();
    }
  }
  return whole;
}

}  // namespace weir
