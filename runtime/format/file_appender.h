#pragma once

// A new file that is written once, from front to back. Upstream: run and part writers.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/fd.h"

namespace weir::format {

/// Appends to a file that did not exist; removes it again unless Close succeeded. It has its name
/// from the start, or from Close on: then nothing of it stays, however the process ends.
///
/// Errors: the errno of the call, naming the path; a full disk is kResourceExhausted (IsDiskFull).
/// Thread-safety: one thread at a time.
class FileAppender {
 public:
  static absl::StatusOr<std::unique_ptr<FileAppender>> Create(const std::string& path);
  /// The file gets its name from Close, which fails with kAlreadyExists when the name is taken by
  /// then. Errors: as Create; kUnimplemented where the system cannot do that.
  static absl::StatusOr<std::unique_ptr<FileAppender>> CreateUnnamed(const std::string& path);
  ~FileAppender();
  FileAppender(const FileAppender&) = delete;
  FileAppender& operator=(const FileAppender&) = delete;

  absl::Status Append(std::string_view bytes);
  /// Returns when what was appended is on disk.
  absl::Status SyncNow();
  enum class Sync { kNo, kYes };
  /// Writes out the buffer and closes. Nothing may be appended afterwards.
  absl::Status Close(Sync sync);

  const std::string& path() const { return path_; }
  /// Appended so far, whether written out or not.
  std::int64_t bytes() const { return bytes_; }

 private:
  FileAppender(Fd fd, std::string path, bool named);
  absl::Status Flush();
  absl::Status Write(std::string_view bytes);

  Fd fd_;
  std::string path_;
  std::string buffer_;
  std::int64_t bytes_ = 0;
  bool named_;
  bool closed_ = false;
};

}  // namespace weir::format
