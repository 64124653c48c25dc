#pragma once

// A daemon's own directory under its work_dir: claimed by a lock, so that what dead daemons left
// can be told from what living ones use.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/env/storage.h"

namespace weir::worker {

/// What becomes of the runs that dead daemons of the name have left.
enum class LeftRuns { kTaken, kRemoved };

/// Owns `<work_dir>/weir-worker-<name>-<incarnation>`.
///
/// The lock is one on the file `lock` inside; it goes when the daemon dies, however that happens.
/// Blocking: all of it; run on a WorkPool.
/// Checked by: tests/unit/worker/work_directory_test.cc.
class WorkDirectory {
 public:
  /// Makes and locks the directory, then removes those of dead daemons of the same name, but not
  /// what is another user's or no directory; with kTaken, jobs of which they have written down runs
  /// (held_records.h) move over before, out of directories that are this user's alone; of others a
  /// warning says why not.
  /// Errors: kInvalidArgument (name), else as Storage; failing to remove an old directory is logged
  ///   only.
  static absl::StatusOr<WorkDirectory> Claim(env::Storage& storage, const std::string& work_dir,
                                             const std::string& name,
                                             const std::string& incarnation, LeftRuns runs);

  /// Claims `path` anew, under the same name and with nothing in it, if somebody has removed it;
  /// nothing if it is there.
  /// Errors: as Claim.
  static absl::StatusOr<std::optional<WorkDirectory>> ClaimIfGone(env::Storage& storage,
                                                                  const std::string& path,
                                                                  const std::string& work_dir,
                                                                  const std::string& name,
                                                                  const std::string& incarnation);
  /// Says whether directories of daemons can be made in `work_dir`, and if not, what to do.
  static absl::Status Check(env::Storage& storage, const std::string& work_dir);

  const std::string& path() const { return path_; }
  /// Removes the directory with all that is in it and gives up the lock.
  absl::Status Remove(env::Storage& storage);

 private:
  WorkDirectory(std::string path, std::unique_ptr<env::FileLock> lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  std::unique_ptr<env::FileLock> lock_;
};

}  // namespace weir::worker
