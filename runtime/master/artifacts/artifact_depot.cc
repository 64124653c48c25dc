#include "runtime/master/artifacts/artifact_depot.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/artifacts/artifact_files.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"

namespace weir::master {
namespace {

v1::PutArtifactResponse Holds(std::int64_t bytes) {
  v1::PutArtifactResponse response;
  response.set_bytes_held(bytes);
  return response;
}

v1::JobError Missing(const std::string& what) {
  return MakeJobError(job_error::kArtifactMissing, absl::StrCat("the master does not hold ", what),
                      "submit the job again: its client sends what is missing");
}

}  // namespace

// What became of a piece on the disk.
struct ArtifactDepot::Written {
  absl::Status status;
  std::int64_t bytes = 0;
  bool whole = false;
};

ArtifactDepot::ArtifactDepot(const MasterSeams& seams, std::string directory)
    : seams_(seams),
      directory_(std::move(directory)),
      cache_({limits::kArtifactCacheBytesMax, limits::kArtifactAgeMax}) {}

ArtifactDepot::~ArtifactDepot() = default;

std::string ArtifactDepot::PathOf(const std::string& sha256) const {
  return absl::StrCat(directory_, "/", sha256);
}

std::string ArtifactDepot::PartialPathOf(const std::string& sha256) const {
  return absl::StrCat(directory_, "/", sha256, ".part");
}

void ArtifactDepot::Open(absl::AnyInvocable<void()> opened) {
  if (directory_.empty()) return opened();
  env::Offload(
      seams_.loop, seams_.disk_pool,
      [&storage = seams_.storage, directory = directory_] {
        return ListArtifacts(storage, directory);
      },
      callbacks_.Guard(
          [this, opened = std::move(opened)](const std::vector<ArtifactContent>& found) mutable {
            for (const ArtifactContent& artifact : found) {
              cache_.Put(artifact.sha256, artifact.bytes, seams_.loop.Now());
            }
            ScheduleSweep();
            opened();
          }));
}

void ArtifactDepot::Put(rpc::Call<rpc::PutArtifact> call) {
  if (directory_.empty()) {
    return call.reply(absl::UnimplementedError("this master keeps no artifacts"));
  }
  const std::string sha256 = call.request.sha256();
  if (const auto busy = busy_.find(sha256); busy != busy_.end()) {
    return busy->second.waiting.push_back(std::move(call));
  }
  const std::optional<std::int64_t> held = cache_.BytesOf(sha256);
  if (!held) return TakePiece(std::move(call));
  cache_.Use(sha256, seams_.loop.Now());
  const bool same_size = *held == call.request.bytes();
  if (same_size && !call.request.data().empty()) return call.reply(Holds(*held));
  Check(std::move(call), *held);
}

void ArtifactDepot::Check(rpc::Call<rpc::PutArtifact> call, std::int64_t held) {
  const std::string sha256 = call.request.sha256();
  Busy& busy = busy_[sha256];
  ++busy.works;
  busy.waiting.push_back(std::move(call));
  env::Offload(
      seams_.loop, seams_.disk_pool,
      [&storage = seams_.storage, path = PathOf(sha256), held, sha256] {
        return VerifyArtifact(storage, path, {sha256, held}, sha256);
      },
      callbacks_.Guard([this, sha256, held](const absl::Status& sound) {
        if (sound.ok()) return Ended(sha256, held);
        LogWarning("An artifact is not what it was; it is taken anew",
                   {{"sha256", sha256}, {"error", sound.message()}});
        cache_.Drop(sha256);
        Remove(sha256, PathOf(sha256));
        Ended(sha256, std::nullopt);
      }));
}

void ArtifactDepot::Ended(const std::string& sha256, std::optional<std::int64_t> whole) {
  const auto it = busy_.find(sha256);
  if (--it->second.works > 0) return;
  std::vector<rpc::Call<rpc::PutArtifact>> waiting = std::move(it->second.waiting);
  busy_.erase(it);
  for (rpc::Call<rpc::PutArtifact>& call : waiting) {
    if (!whole) {
      Put(std::move(call));
    } else if (*whole == call.request.bytes()) {
      call.reply(Holds(*whole));
    } else {
      call.reply(absl::InvalidArgumentError(absl::StrCat("artifact ", sha256, " has ", *whole,
                                                         " bytes, not ", call.request.bytes())));
    }
  }
}

absl::Status ArtifactDepot::RoomFor(std::int64_t bytes) const {
  std::int64_t coming = bytes;
  for (const auto& [sha256, upload] : uploads_) coming += upload->bytes;
  if (static_cast<int>(uploads_.size()) < limits::kArtifactUploadsMax &&
      cache_.HasRoomFor(coming)) {
    return absl::OkStatus();
  }
  return StatusFromJobError(
      absl::StatusCode::kResourceExhausted,
      MakeJobError(job_error::kArtifactStoreFull,
                   absl::StrCat("the master has no room for ", bytes, " more bytes of artifacts: ",
                                "those of jobs that have not ended, and ", uploads_.size(),
                                " that are on their way, come first"),
                   "submit the job again when others have ended"));
}

void ArtifactDepot::TakePiece(rpc::Call<rpc::PutArtifact> call) {
  const std::string sha256 = call.request.sha256();
  auto found = uploads_.find(sha256);
  if (found == uploads_.end()) {
    if (absl::Status room = RoomFor(call.request.bytes()); !room.ok()) return call.reply(room);
    found = uploads_.emplace(sha256, std::make_shared<Upload>()).first;
    found->second->bytes = call.request.bytes();
    ScheduleSweep();
  }
  Upload& upload = *found->second;
  if (upload.bytes != call.request.bytes()) {
    return call.reply(absl::InvalidArgumentError(
        absl::StrCat("artifact ", sha256, " is being sent as one of ", upload.bytes,
                     " bytes, not of ", call.request.bytes())));
  }
  upload.heard = seams_.loop.Now();
  upload.waiting.push_back(std::move(call));
  if (!upload.writing) Next(sha256);
}

void ArtifactDepot::Next(const std::string& sha256) {
  const std::shared_ptr<Upload> upload = uploads_.at(sha256);
  while (!upload->waiting.empty()) {
    rpc::Call<rpc::PutArtifact> call = std::move(upload->waiting.front());
    upload->waiting.pop_front();
    const auto size = static_cast<std::int64_t>(call.request.data().size());
    // An artifact of no bytes is whole with the first question.
    const bool news = call.request.offset() == upload->received &&
                      size <= upload->bytes - upload->received && (size > 0 || upload->bytes == 0);
    if (!news) {
      call.reply(Holds(upload->received));
      continue;
    }
    upload->writing = true;
    env::Offload(
        seams_.loop, seams_.disk_pool,
        [&storage = seams_.storage, directory = directory_, part = PartialPathOf(sha256),
         path = PathOf(sha256), upload, sha256, data = std::move(*call.request.mutable_data())] {
          Written written;
          written.bytes = static_cast<std::int64_t>(data.size());
          if (upload->received == 0) written.status = MakeArtifactDirectory(storage, directory);
          if (written.status.ok()) written.status = storage.WriteAt(part, upload->received, data);
          if (!written.status.ok()) return written;
          upload->hash.Update(data);
          if (upload->received + written.bytes < upload->bytes) return written;
          const std::string hash = upload->hash.Finish();
          if (hash != sha256) {
            written.status =
                DamagedArtifact(sha256, absl::StrCat("what was sent has SHA-256 ", hash,
                                                     "; did the file change meanwhile?"));
            return written;
          }
          written.status = storage.Seal(part, /*executable=*/false);
          if (written.status.ok()) written.status = storage.Rename(part, path);
          written.whole = written.status.ok();
          return written;
        },
        callbacks_.Guard(
            [this, sha256, reply = std::move(call.reply)](const Written& written) mutable {
              OnWritten(sha256, std::move(reply), written);
            }));
    return;
  }
}

void ArtifactDepot::OnWritten(const std::string& sha256, rpc::Reply<v1::PutArtifactResponse> reply,
                              const Written& written) {
  const std::shared_ptr<Upload> upload = uploads_.at(sha256);
  upload->writing = false;
  upload->received += written.bytes;
  if (written.status.ok() && !written.whole) {
    reply(Holds(upload->received));
    return Next(sha256);
  }
  uploads_.erase(sha256);
  if (written.whole) {
    cache_.Put(sha256, upload->bytes, seams_.loop.Now());
    CollectGarbage();
    LogInfo("Artifact taken", {{"sha256", sha256}, {"bytes", upload->bytes}});
    reply(Holds(upload->bytes));
  } else {
    Remove(sha256, PartialPathOf(sha256));
    reply(written.status);
  }
  for (rpc::Call<rpc::PutArtifact>& call : upload->waiting) {
    if (written.whole) {
      call.reply(Holds(upload->bytes));
    } else {
      call.reply(written.status);
    }
  }
}

void ArtifactDepot::Fetch(rpc::Call<rpc::FetchArtifact> call) {
  const std::string& sha256 = call.request.sha256();
  if (!cache_.BytesOf(sha256)) {
    return call.reply(StatusFromJobError(absl::StatusCode::kNotFound,
                                         Missing(absl::StrCat("an artifact ", sha256))));
  }
  cache_.Use(sha256, seams_.loop.Now());
  env::Offload(
      seams_.loop, seams_.disk_pool,
      [&storage = seams_.storage, path = PathOf(sha256), offset = call.request.offset()] {
        return storage.ReadAt(path, offset, limits::kArtifactPieceBytes);
      },
      callbacks_.Guard(
          [this, sha256, reply = std::move(call.reply)](absl::StatusOr<std::string> data) mutable {
            if (absl::IsNotFound(data.status())) {
              cache_.Drop(sha256);
              return reply(StatusFromJobError(absl::StatusCode::kNotFound,
                                              Missing(absl::StrCat("an artifact ", sha256))));
            }
            if (!data.ok()) return reply(data.status());
            v1::FetchArtifactResponse response;
            response.set_data(*std::move(data));
            reply(std::move(response));
          }));
}

absl::Status ArtifactDepot::Hold(const std::string& holder, const v1::JobSpec& spec) {
  for (const v1::Artifact& artifact : spec.artifacts()) {
    if (cache_.BytesOf(artifact.sha256()) == artifact.bytes()) continue;
    return StatusFromJobError(
        absl::StatusCode::kFailedPrecondition,
        Missing(absl::StrCat("artifact ", artifact.name(), " (", artifact.sha256(), ", ",
                             artifact.bytes(), " bytes)")));
  }
  for (const v1::Artifact& artifact : spec.artifacts()) cache_.Hold(holder, artifact.sha256());
  return absl::OkStatus();
}

void ArtifactDepot::LetGo(const std::string& holder) {
  cache_.LetGo(holder, seams_.loop.Now());
  CollectGarbage();
}

void ArtifactDepot::CollectGarbage() {
  for (const std::string& sha256 : cache_.TakeDoomed(seams_.loop.Now())) {
    LogInfo("Artifact removed", {{"sha256", sha256}});
    Remove(sha256, PathOf(sha256));
  }
}

void ArtifactDepot::Remove(const std::string& sha256, std::string path) {
  ++busy_[sha256].works;
  env::Offload(
      seams_.loop, seams_.disk_pool,
      [&storage = seams_.storage, path = std::move(path)] { return storage.RemoveAll(path); },
      callbacks_.Guard(
          [this, sha256](const absl::Status& /*removed*/) { Ended(sha256, std::nullopt); }));
}

void ArtifactDepot::ScheduleSweep() {
  if (sweep_scheduled_ || (cache_.empty() && uploads_.empty())) return;
  sweep_scheduled_ = true;
  seams_.loop.RunAt(seams_.loop.Now() + limits::kArtifactUploadSilence, callbacks_.Guard([this] {
    sweep_scheduled_ = false;
    std::vector<std::string> silent;
    for (const auto& [sha256, upload] : uploads_) {
      if (upload->writing) continue;
      if (seams_.loop.Now() - upload->heard >= limits::kArtifactUploadSilence) {
        silent.push_back(sha256);
      }
    }
    for (const std::string& sha256 : silent) {
      uploads_.erase(sha256);
      Remove(sha256, PartialPathOf(sha256));
    }
    CollectGarbage();
    ScheduleSweep();
  }));
}

}  // namespace weir::master
