#pragma once

// Files as one simulated worker sees them. Upstream: the worker daemon, and the fakes below it.
// Downstream: MemoryStorage, which outlives the worker.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/env/storage.h"
#include "tests/sim/memory_storage.h"
#include "tests/sim/worker_model.h"

namespace weir::sim {

/// The disk of the worker's host below one directory, and the file system that all share elsewhere.
/// Other hosts' disks are not there. A full disk takes no more; locks go with the process.
class WorkerStorage final : public env::Storage {
 public:
  WorkerStorage(MemoryStorage& disks, std::string own_disk, MemoryStorage& shared,
                const WorkerFaults& faults, std::uint64_t machine_start)
      : disks_(disks),
        own_disk_(std::move(own_disk)),
        shared_(shared),
        faults_(faults),
        machine_start_(machine_start) {}

  const std::string& own_disk() const { return own_disk_; }
  /// What the kernel does when a process has ended.
  void DropLocks();

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

  /// As MemoryStorage's.
  absl::Status WriteSized(const std::string& path, std::int64_t bytes);
  absl::Status WritePiece(const std::string& path, std::int64_t offset, std::int64_t bytes,
                          bool may_be_there = false);
  absl::Status CheckWritten(const std::string& path, std::int64_t offset, std::int64_t bytes);

 private:
  class Lock;
  MemoryStorage& Of(const std::string& path);
  absl::Status CheckRoom(const std::string& path);
  absl::StatusOr<std::unique_ptr<env::FileLock>> Own(
      absl::StatusOr<std::unique_ptr<env::FileLock>> lock);

  MemoryStorage& disks_;
  const std::string own_disk_;
  MemoryStorage& shared_;
  const WorkerFaults& faults_;
  const std::uint64_t machine_start_;
  std::vector<std::shared_ptr<std::unique_ptr<env::FileLock>>> locks_;
};

}  // namespace weir::sim
