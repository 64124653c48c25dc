#pragma once

// Files as the control processes use them: listing inputs, staging and publishing output, work
// directories. Blocking: call from a WorkPool. Bulk bytes (runs, sendfile) do not go through here.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace weir::env {

struct FileInfo {
  std::string path;
  bool is_directory = false;
  bool is_regular = false;
  std::int64_t bytes = 0;
};

/// Errors everywhere: kNotFound, kPermissionDenied, kAlreadyExists, kResourceExhausted (disk full),
/// else kUnavailable; messages name the path.
class Storage {
 public:
  virtual ~Storage() = default;
  /// Follows symbolic links.
  virtual absl::StatusOr<FileInfo> Stat(const std::string& path) = 0;
  /// Entries of a directory, sorted by name, "." and ".." left out.
  virtual absl::StatusOr<std::vector<FileInfo>> List(const std::string& directory) = 0;
  /// Paths that match a shell glob, sorted.
  virtual absl::StatusOr<std::vector<std::string>> Glob(const std::string& pattern) = 0;
  /// Fails when `path` exists. Parents must exist.
  virtual absl::Status MakeDirectory(const std::string& path) = 0;
  /// Writes to a temporary name, syncs, renames over `path`.
  virtual absl::Status WriteFileAtomically(const std::string& path, std::string_view content) = 0;
  virtual absl::StatusOr<std::string> ReadFile(const std::string& path, std::int64_t max_bytes) = 0;
  /// Renames and syncs the parent directory. Fails when `to` exists, unless it is an empty
  /// directory.
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status SyncDirectory(const std::string& path) = 0;
  /// Removes a tree; not existing is success.
  virtual absl::Status RemoveAll(const std::string& path) = 0;
  /// Bytes free to this user on the file system of `path`.
  virtual absl::StatusOr<std::int64_t> FreeBytes(const std::string& path) = 0;
};

}  // namespace weir::env
