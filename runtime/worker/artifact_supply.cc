#include "runtime/worker/artifact_supply.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/artifacts/artifact_files.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "runtime/base/log.h"
#include "runtime/worker/retry_pause.h"

namespace weir::worker {

ArtifactSupply::ArtifactSupply(const WorkerSeams& seams, ArtifactCache& cache, std::string holder,
                               ArtifactPlaces places, v1::JobSpec spec)
    : seams_(seams),
      cache_(cache),
      holder_(std::move(holder)),
      places_(std::move(places)),
      spec_(std::move(spec)),
      machine_(spec_.artifacts_size()) {}

std::string ArtifactSupply::CachedPath() const {
  return absl::StrCat(places_.cache_directory, "/", artifact().sha256());
}

// Each job fetches for itself what is missing: two of them never write to one file.
std::string ArtifactSupply::PartialPath() const {
  return absl::StrCat(CachedPath(), ".", holder_, ".part");
}

void ArtifactSupply::Start(absl::AnyInvocable<void(absl::Status)> done) {
  done_ = std::move(done);
  if (spec_.artifacts().empty()) return done_(absl::OkStatus());
  give_up_ = seams_.loop.Now() + limits::kArtifactSupplyMax;
  for (const v1::Artifact& artifact : spec_.artifacts()) cache_.Hold(holder_, artifact.sha256());
  OnDiskPool(
      [&storage = seams_.storage, directory = places_.cache_directory] {
        return MakeArtifactDirectory(storage, directory);
      },
      [this](const absl::Status& made) {
        if (!made.ok()) return done_(made);
        Step();
      });
}

void ArtifactSupply::Step() {
  if (cancelled_) return GiveUp(absl::AbortedError("the job is being released"));
  switch (machine_.act()) {
    case ArtifactSupplyMachine::Act::kLink:
      return Link();
    case ArtifactSupplyMachine::Act::kFetch:
      return BeginFetch();
    case ArtifactSupplyMachine::Act::kDone:
      return done_(absl::OkStatus());
    case ArtifactSupplyMachine::Act::kFail:
      return GiveUp(machine_.failure());
  }
}

// The cache outlives the job: what lies there of an artifact that did not come would do so as long
// as the daemon lives, also where it filled the disk.
void ArtifactSupply::GiveUp(const absl::Status& why) {
  if (!std::exchange(partial_there_, false)) return done_(why);
  OnDiskPool([&storage = seams_.storage, part = PartialPath()] { return storage.RemoveAll(part); },
             [this, why](const absl::Status& removed) {
               if (!removed.ok()) {
                 LogWarning("What came of an artifact is not removed",
                            {{"job", holder_}, {"error", removed.message()}});
               }
               done_(why);
             });
}

void ArtifactSupply::Ended(const absl::Status& status) {
  machine_.Ended(status);
  Step();
}

void ArtifactSupply::Link() {
  const std::string target =
      absl::StrCat(artifact().unpack() ? places_.archive_directory : places_.target_directory, "/",
                   artifact().name());
  OnDiskPool(
      [&storage = seams_.storage, cached = CachedPath(), target, artifact = artifact()] {
        absl::Status status = storage.HandOverRun(cached, target);
        if (!status.ok()) return status;
        status =
            VerifyArtifact(storage, target, {artifact.sha256(), artifact.bytes()}, artifact.name());
        if (status.ok() && artifact.executable()) status = storage.Seal(target, true);
        if (!status.ok()) {
          storage.RemoveAll(target).IgnoreError();
          storage.RemoveAll(cached).IgnoreError();
        }
        return status;
      },
      [this](const absl::Status& linked) {
        if (linked.ok()) {
          cache_.Put(artifact().sha256(), artifact().bytes(), seams_.loop.Now());
          CollectGarbage();
        } else {
          cache_.Drop(artifact().sha256());
        }
        if (absl::IsDataLoss(linked)) {
          LogWarning("A cached artifact is damaged",
                     {{"job", holder_}, {"error", linked.message()}});
        }
        Ended(linked);
      });
}

void ArtifactSupply::BeginFetch() {
  fetched_ = 0;
  pause_ = absl::ZeroDuration();
  partial_there_ = true;
  // What a fetch of this job left that was given up.
  OnDiskPool([&storage = seams_.storage, part = PartialPath()] { return storage.RemoveAll(part); },
             [this](const absl::Status& removed) {
               if (!removed.ok()) return Ended(removed);
               if (artifact().bytes() > 0) return AskForPiece();
               TakePiece("");
             });
}

void ArtifactSupply::AskForPiece() {
  if (cancelled_) return Step();
  v1::FetchArtifactRequest request;
  request.set_sha256(artifact().sha256());
  request.set_offset(fetched_);
  seams_.cluster.Send<rpc::FetchArtifact>(
      std::move(request), WhileAlive([this](absl::StatusOr<v1::FetchArtifactResponse> answer) {
        if (answer.ok()) {
          pause_ = absl::ZeroDuration();
          return TakePiece(std::move(*answer->mutable_data()));
        }
        const bool transient =
            absl::IsUnavailable(answer.status()) || absl::IsDeadlineExceeded(answer.status());
        const MonoTime now = seams_.loop.Now();
        if (!transient || now >= give_up_) return Ended(answer.status());
        pause_ = NextRetryPause(pause_);
        seams_.loop.RunAt(now + Jittered(pause_, seams_.random),
                          WhileAlive([this] { AskForPiece(); }));
      }));
}

void ArtifactSupply::TakePiece(std::string data) {
  const auto size = static_cast<std::int64_t>(data.size());
  const std::int64_t left = artifact().bytes() - fetched_;
  if (size > left || (size == 0 && left > 0)) {
    return Ended(DamagedArtifact(artifact().name(),
                                 absl::StrCat("the master has ", size > left ? "more" : "less",
                                              " of it than its ", artifact().bytes(), " bytes")));
  }
  OnDiskPool([&storage = seams_.storage, part = PartialPath(), offset = fetched_,
              data = std::move(data)] { return storage.WriteAt(part, offset, data); },
             [this, size](const absl::Status& written) {
               if (!written.ok()) return Ended(written);
               fetched_ += size;
               if (fetched_ < artifact().bytes()) return AskForPiece();
               FinishFetch();
             });
}

void ArtifactSupply::FinishFetch() {
  OnDiskPool(
      [&storage = seams_.storage, part = PartialPath(), cached = CachedPath(),
       artifact = artifact()] {
        absl::Status status =
            VerifyArtifact(storage, part, {artifact.sha256(), artifact.bytes()}, artifact.name());
        if (status.ok()) status = storage.Seal(part, artifact.executable());
        if (status.ok()) status = storage.Rename(part, cached);
        if (!status.ok()) storage.RemoveAll(part).IgnoreError();
        // Another job was faster.
        return absl::IsAlreadyExists(status) ? absl::OkStatus() : status;
      },
      [this](const absl::Status& status) {
        partial_there_ = !status.ok();
        Ended(status);
      });
}

void ArtifactSupply::CollectGarbage() {
  for (const std::string& sha256 : cache_.TakeDoomed(seams_.loop.Now())) {
    seams_.disk_pool.Run(
        [&storage = seams_.storage, path = absl::StrCat(places_.cache_directory, "/", sha256)] {
          storage.RemoveAll(path).IgnoreError();
        });
  }
}

void ArtifactSupply::OnDiskPool(absl::AnyInvocable<absl::Status()> work,
                                absl::AnyInvocable<void(absl::Status)> then) {
  seams_.disk_pool.Run(
      [&loop = seams_.loop, work = std::move(work), then = WhileAlive(std::move(then))]() mutable {
        loop.Post([status = work(), then = std::move(then)]() mutable { then(std::move(status)); });
      });
}

}  // namespace weir::worker
