#pragma once

// Files of the machine. Upstream: control code through env::Storage. Downstream: the kernel.

#include "runtime/env/storage.h"

namespace weir::env {

/// Storage over POSIX calls. Thread-safe: keeps no state. Errors carry errno (errno_status.h).
class PosixStorage : public Storage {
 public:
  absl::StatusOr<FileInfo> Stat(const std::string& path) override;
  absl::StatusOr<std::vector<FileInfo>> List(const std::string& directory) override;
  absl::StatusOr<std::vector<std::string>> ListNames(const std::string& directory) override;
  absl::StatusOr<std::vector<std::string>> Glob(const std::string& pattern) override;
  bool MayWriteIn(const std::string& directory) override;
  absl::Status MakeDirectory(const std::string& path) override;
  absl::Status MakePrivate(const std::string& directory) override;
  absl::StatusOr<Privacy> PrivacyOf(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<FileLock>> MakeLock(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<FileLock>> TakeLock(const std::string& path) override;
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
};

}  // namespace weir::env
