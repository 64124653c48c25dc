#pragma once

// A file system in memory, with the failures that matter to master and workers. Outlives processes.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/env/storage.h"
#include "tests/sim/virtual_time.h"

namespace weir::sim {

/// Errors carry the errno that a real file system gives. Thread-safety: none.
class MemoryStorage final : public env::Storage {
 public:
  MemoryStorage();

  absl::StatusOr<env::FileInfo> Stat(const std::string& path) override;
  absl::StatusOr<std::vector<env::FileInfo>> List(const std::string& directory) override;
  absl::StatusOr<std::vector<std::string>> ListNames(const std::string& directory) override;
  absl::StatusOr<std::vector<std::string>> Glob(const std::string& pattern) override;
  bool MayWriteIn(const std::string& directory) override;
  absl::Status MakeDirectory(const std::string& path) override;
  absl::Status MakePrivate(const std::string& directory) override;
  absl::StatusOr<env::Privacy> PrivacyOf(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<env::FileLock>> MakeLock(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<env::FileLock>> TakeLock(const std::string& path) override;
  absl::Status WriteFileAtomically(const std::string& path, std::string_view content) override;
  absl::Status WriteNamed(const std::string& path, std::string_view content) override;
  absl::Status WriteFile(const std::string& path, std::string_view content) override;
  absl::StatusOr<std::string> ReadFile(const std::string& path, std::int64_t max_bytes) override;
  absl::StatusOr<std::string> ReadAt(const std::string& path, std::int64_t offset,
                                     std::int64_t bytes_max) override;
  /// All of every file is.
  absl::StatusOr<std::vector<std::int64_t>> NotInMemory(
      const std::string& path, const std::vector<std::int64_t>& offsets) override;
  absl::Status WriteAt(const std::string& path, std::int64_t offset,
                       std::string_view bytes) override;
  absl::Status Seal(const std::string& path, bool executable) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status HandOverRun(const std::string& source, const std::string& destination) override;
  absl::Status Exchange(const std::string& a, const std::string& b) override;
  absl::Status SyncDirectory(const std::string& path) override;
  absl::Status RemoveAll(const std::string& path) override;
  absl::StatusOr<std::int64_t> FreeBytes(const std::string& path) override;

  /// A file of which only the size matters.
  absl::Status WriteSized(const std::string& path, std::int64_t bytes);
  /// A piece of such a file, which is made where there is none.
  /// Errors: kDataLoss when some of it was written before; those of every write.
  absl::Status WritePiece(const std::string& path, std::int64_t offset, std::int64_t bytes,
                          bool may_be_there = false);
  /// Says whether all of a range has been written. Errors: kNotFound, kDataLoss.
  absl::Status CheckWritten(const std::string& path, std::int64_t offset, std::int64_t bytes) const;
  /// Every path, sorted.
  std::vector<std::string> Paths() const;
  void SetFull(bool full) { full_ = full; }
  /// Of each file below `directory` that was not synced: it is whole, or gone, or cut short, or as
  /// long as it was with bytes that nobody wrote.
  void LosePower(const std::string& directory, SeededRandom& random);
  /// False: as NFS and most of FUSE, which know no exchange.
  void SetExchanges(bool exchanges) { exchanges_ = exchanges; }
  /// From now on the directory is a mount point, which cannot be renamed.
  void SetMountPoint(const std::string& path) { mount_points_.insert(path); }
  /// Called before every operation; a status other than OK is its result.
  void SetGate(std::function<absl::Status(const char* operation, const std::string& path)> gate) {
    gate_ = std::move(gate);
  }

 private:
  // What paths lead to; two of them after a hand-over.
  struct File {
    bool is_directory = false;
    bool is_private = false;
    std::string content;
    std::map<std::int64_t, std::int64_t>
        written;  // begin and end of what was written, not adjacent
    bool locked = false;
    bool synced = false;
    std::int64_t bytes() const { return written.empty() ? 0 : written.rbegin()->second; }
  };
  class Lock;
  static std::shared_ptr<File> Sized(std::int64_t bytes);
  env::FileInfo InfoOf(const std::string& path, const File& file) const;
  absl::Status Enter(const char* operation, const std::string& path) const;
  absl::Status Write(const std::string& path, std::string_view content, bool synced);
  static void Tear(File& file, SeededRandom& random);
  // What every write asks: may there be a file of this name?
  absl::Status CheckRoom(const char* what, const std::string& path) const;
  absl::Status CheckParent(const std::string& path) const;
  bool IsEmptyDirectory(const std::string& path) const;
  void Move(const std::string& from, const std::string& to);

  std::map<std::string, std::shared_ptr<File>> files_;
  std::function<absl::Status(const char*, const std::string&)> gate_;
  bool full_ = false;
  bool exchanges_ = true;
  std::set<std::string> mount_points_;
};

}  // namespace weir::sim
