#pragma once

// Brings the artifacts of one job into the working directory of its tasks, before the first of them
// starts. Upstream: WorkerJob. Downstream: ArtifactSupplyMachine decides; the worker's cache, the
// master.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "runtime/artifacts/artifact_cache.h"
#include "runtime/worker/artifact_supply_machine.h"
#include "runtime/worker/worker_seams.h"
#include "weir/v1/job.pb.h"

namespace weir::worker {

/// Where a supply takes from and where it leaves what it has.
struct ArtifactPlaces {
  std::string cache_directory;    // by hash; made where it is not there
  std::string target_directory;   // by name; must be there
  std::string archive_directory;  // as that, for those that are unpacked
};

/// Supplies one job.
///
/// Each file is linked from the cache and read once: its hash is checked for every job, so that
/// what user code or a disk did to a cached file is found. What is missing comes from the master
/// piece by piece. Thread-safety: on the loop only. Ownership: by shared_ptr; nothing is
/// called once it is gone. Cancellation: Cancel; the answer comes as soon as nothing is written any
/// more.
/// Failure semantics: pieces that do not come are asked for again until limits::kArtifactSupplyMax
///   has passed. Pieces of an artifact that does not come whole are removed before the answer.
/// Checked by: tests/unit/worker/artifact_supply_test.cc.
class ArtifactSupply : public std::enable_shared_from_this<ArtifactSupply> {
 public:
  /// `holder` holds the artifacts in `cache` until it is told to let go. What `seams` and `cache`
  /// name outlives it.
  ArtifactSupply(const WorkerSeams& seams, ArtifactCache& cache, std::string holder,
                 ArtifactPlaces places, v1::JobSpec spec);

  /// `done` comes once: kDataLoss with ARTIFACT_DAMAGED, kNotFound with ARTIFACT_MISSING,
  /// kDeadlineExceeded, errors of files, kAborted after Cancel.
  void Start(absl::AnyInvocable<void(absl::Status)> done);
  void Cancel() { cancelled_ = true; }

 private:
  const v1::Artifact& artifact() const { return spec_.artifacts(machine_.index()); }
  std::string CachedPath() const;
  std::string PartialPath() const;
  void Step();
  void GiveUp(const absl::Status& why);
  void Link();
  void BeginFetch();
  void AskForPiece();
  void TakePiece(std::string data);
  void FinishFetch();
  void Ended(const absl::Status& status);
  void CollectGarbage();
  // Makes a callback that does nothing once this is gone.
  template <typename F>
  auto WhileAlive(F f) {
    return [weak = weak_from_this(), f = std::move(f)](auto&&... args) mutable {
      if (auto alive = weak.lock()) f(std::forward<decltype(args)>(args)...);
    };
  }
  // Runs `work` on the disk pool and then `then` here.
  void OnDiskPool(absl::AnyInvocable<absl::Status()> work,
                  absl::AnyInvocable<void(absl::Status)> then);

  const WorkerSeams& seams_;
  ArtifactCache& cache_;
  const std::string holder_;
  const ArtifactPlaces places_;
  const v1::JobSpec spec_;
  ArtifactSupplyMachine machine_;
  absl::AnyInvocable<void(absl::Status)> done_;
  MonoTime give_up_;
  std::int64_t fetched_ = 0;    // of the artifact that is fetched
  bool partial_there_ = false;  // pieces of it, perhaps, beside the cache's whole files
  absl::Duration pause_;        // before it is asked for again
  bool cancelled_ = false;
};

}  // namespace weir::worker
