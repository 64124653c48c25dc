#pragma once

// The artifacts of all jobs, as the master keeps them: taken from clients piece by piece, given to
// workers piece by piece. Upstream: Master (PutArtifact, FetchArtifact, jobs that come and go).
// Downstream: ArtifactCache decides, files of one folder.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "runtime/artifacts/artifact_cache.h"
#include "runtime/artifacts/sha256.h"
#include "runtime/env/callback_scope.h"
#include "runtime/master/options/master_seams.h"
#include "runtime/rpc/call.h"
#include "weir/v1/job.pb.h"

namespace weir::master {

/// Keeps artifacts by hash.
///
/// An artifact is there once all of its bytes have come and have its hash. A piece that comes
/// twice, or out of turn, does no harm: the answer says where to go on, so clients that send the
/// same content at once, or go on after a break, help each other. What lies there is read again
/// whenever a client asks for it before it submits: damaged on disk, it is sent again.
/// Thread-safety: on the loop only. Failure semantics: uploads that were under way are gone after a
///   restart; what was whole is found again, its age counted from then.
/// Bounds: limits::kArtifact*. Checked by: tests/unit/master/artifact_depot_test.cc.
class ArtifactDepot {
 public:
  /// `directory`: made with the first artifact; empty: artifacts are refused.
  ArtifactDepot(const MasterSeams& seams, std::string directory);
  ~ArtifactDepot();

  /// Looks what earlier masters left. `opened` on the loop, or at once.
  void Open(absl::AnyInvocable<void()> opened);

  /// Errors: kInvalidArgument (another size than that of the artifact), kDataLoss with
  /// ARTIFACT_DAMAGED (all bytes came, with another hash: begin again), kResourceExhausted with
  /// ARTIFACT_STORE_FULL, those of files.
  void Put(rpc::Call<rpc::PutArtifact> call);
  /// Errors: kNotFound with ARTIFACT_MISSING, those of files.
  void Fetch(rpc::Call<rpc::FetchArtifact> call);

  /// From now on these artifacts stay until `holder` lets go. Errors: kFailedPrecondition with
  /// ARTIFACT_MISSING naming the first that is not here; then nothing is held.
  absl::Status Hold(const std::string& holder, const v1::JobSpec& spec);
  void LetGo(const std::string& holder);

 private:
  /// An artifact on its way here.
  struct Upload {
    std::int64_t bytes = 0;     // of the whole
    std::int64_t received = 0;  // from its beginning on
    Sha256Stream hash;          // of what was received
    MonoTime heard;
    bool writing = false;
    std::deque<rpc::Call<rpc::PutArtifact>> waiting;
  };
  struct Written;
  /// Reads or removals of the file of one artifact that are under way, and who waits for their end:
  /// nobody sends what is about to be removed.
  struct Busy {
    int works = 0;
    std::vector<rpc::Call<rpc::PutArtifact>> waiting;
  };

  std::string PathOf(const std::string& sha256) const;
  std::string PartialPathOf(const std::string& sha256) const;
  void TakePiece(rpc::Call<rpc::PutArtifact> call);
  absl::Status RoomFor(std::int64_t bytes) const;
  void Next(const std::string& sha256);
  void OnWritten(const std::string& sha256, rpc::Reply<v1::PutArtifactResponse> reply,
                 const Written& written);
  /// Reads what is there of `held` bytes, once for all who ask meanwhile.
  void Check(rpc::Call<rpc::PutArtifact> call, std::int64_t held);
  /// Removes one of the two files of an artifact.
  void Remove(const std::string& sha256, std::string path);
  /// One read or removal of it has ended; `whole`: it holds so many bytes, as it should.
  void Ended(const std::string& sha256, std::optional<std::int64_t> whole);
  void CollectGarbage();
  void ScheduleSweep();

  const MasterSeams& seams_;
  const std::string directory_;
  ArtifactCache cache_;
  absl::btree_map<std::string, std::shared_ptr<Upload>> uploads_;
  absl::btree_map<std::string, Busy> busy_;
  bool sweep_scheduled_ = false;
  env::CallbackScope callbacks_;
};

}  // namespace weir::master
