#pragma once

// Reads a part of an input file and notices when the file changes meanwhile. Upstream: InputRange.
// Downstream: delimited_blocks.h, fixed_blocks.h.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "jobs/api/program.h"

namespace weir {

/// One open input file. Read with pread, not mapped: a file that shrinks under a mapping would kill
/// the task instead of giving an error.
///
/// Thread-safety: one thread at a time.
/// Errors: StepError INPUT_NOT_FOUND, INPUT_UNREADABLE, INPUT_CHANGED, naming the file.
class InputFile {
 public:
  InputFile() = default;
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Opens the file of the range; fails when it is not the one that was listed: by size and time of
  /// modification, and where the range says that they mean the same here, by inode and time of its
  /// change.
  absl::Status Open(const InputRange& range);
  /// Reads exactly `bytes` bytes. Requires: offset + bytes <= file_bytes of the range.
  absl::Status Read(std::int64_t offset, char* into, std::int64_t bytes);
  /// Fails when the file was written to since Open.
  absl::Status CheckUnchanged() const;

  const std::string& path() const { return path_; }

 private:
  struct Found {
    std::int64_t bytes = 0;
    FileVersion version;
  };

  absl::Status Look(Found& found) const;
  absl::Status CheckListed(const InputRange& range) const;
  bool InodesAreStable() const;
  absl::Status Changed(const std::string& how) const;

  std::string path_;
  int fd_ = -1;
  Found opened_;
};

}  // namespace weir
