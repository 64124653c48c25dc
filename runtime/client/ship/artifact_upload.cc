#include "runtime/client/ship/artifact_upload.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/artifacts/artifact_files.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/client/ask_again.h"

namespace weir::client {
namespace {

absl::Status Send(const std::string& path, const v1::Artifact& artifact, Session& session,
                  MasterAbsence& absence, CommandHost& host) {
  // The first question has no bytes: mostly the master has them all.
  std::string piece;
  std::int64_t offset = 0;
  while (true) {
    v1::PutArtifactRequest request;
    request.set_sha256(artifact.sha256());
    request.set_bytes(artifact.bytes());
    request.set_offset(offset);
    request.set_data(std::move(piece));
    // A piece that comes twice does no harm.
    const auto response =
        AskAgain<rpc::PutArtifact>(session, request, "submit the job again", absence, host);
    if (!response.ok()) return response.status();
    offset = response->bytes_held();
    if (offset == artifact.bytes()) return absl::OkStatus();
    auto read = host.storage.ReadAt(path, offset, limits::kArtifactPieceBytes);
    if (!read.ok()) return read.status();
    const std::int64_t left = artifact.bytes() - offset;
    if (read->empty()) return DamagedArtifact(artifact.name(), "its file became shorter meanwhile");
    // One that grew is found out by its hash.
    piece = read->substr(0, static_cast<std::size_t>(left));
  }
}

}  // namespace

absl::Status SendArtifacts(absl::Span<const LocalArtifact> files, Session& session,
                           MasterAbsence& absence, CommandHost& host, v1::JobSpec& spec) {
  for (const LocalArtifact& file : files) {
    const auto found = host.storage.Stat(file.path);
    if (!found.ok()) return found.status();
    if (!found->is_regular) {
      return StatusFromJobError(
          absl::StatusCode::kInvalidArgument,
          MakeJobError(job_error::kInvalidJob,
                       absl::StrCat(file.path, " goes with the job, but is no regular file")));
    }
    const auto content = HashFile(host.storage, file.path, limits::kArtifactBytesMax);
    if (!content.ok()) return content.status();
    v1::Artifact artifact;
    artifact.set_name(file.name);
    artifact.set_sha256(content->sha256);
    artifact.set_bytes(content->bytes);
    artifact.set_executable(file.executable);
    artifact.set_unpack(file.unpack);
    absl::Status sent = Send(file.path, artifact, session, absence, host);
    if (!sent.ok()) return sent;
    *spec.add_artifacts() = std::move(artifact);
  }
  return absl::OkStatus();
}

}  // namespace weir::client
