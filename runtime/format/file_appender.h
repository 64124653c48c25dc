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
  enum class WriteBack {
    /// When the kernel likes: for files that need not be on disk.
    kLater,
    /// As the file grows: for files that are synced at the end. The disk begins with the first
    /// bytes, the sync finds little left to do, and at most two steps of limits::kWriteBackBytes
    /// wait in memory. Append waits for the disk then.
    kInSteps,
  };
  static absl::StatusOr<std::unique_ptr<FileAppender>> Create(
      const std::string& path, WriteBack write_back = WriteBack::kLater);
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
  absl::Status Write(std::string_view first, std::string_view second);
  absl::Status WriteBackGrown();
  void Reserve(std::int64_t bytes);

  Fd fd_;
  std::string path_;
  std::string buffer_;
  std::int64_t bytes_ = 0;
  std::int64_t written_bytes_ = 0;
  // Of these, what the disk was told to write, and what it has written.
  std::int64_t begun_bytes_ = 0;
  std::int64_t ended_bytes_ = 0;
  WriteBack write_back_ = WriteBack::kLater;
  // Of the file system, for what is written; -1 once that is known to be of no use.
  std::int64_t reserved_bytes_ = 0;
  bool named_;
  bool closed_ = false;
};

}  // namespace weir::format
