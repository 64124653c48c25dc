#pragma once

// Reads a part of an input file and notices when the file changes meanwhile. Upstream: InputRange.
// Downstream: delimited_blocks.h, fixed_blocks.h.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "jobs/engine/input/mapped_part.h"

namespace weir {

/// One open input file: read into memory of the caller, or looked at where it lies.
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
  /// Makes Window give the bytes of the range where that is better than Read. Bytes that cannot be
  /// had while they are looked at are `filler`: nothing counts that was made of a window before
  /// another call, or CheckUnchanged, went well.
  /// Less than `bytes_min` bytes are read.
  void Map(const InputRange& range, char filler, std::int64_t bytes_min = kMappedBytesMin);
  /// The address of bytes [offset, offset + bytes), valid until the next call; null where they are
  /// to be read. Requires: offsets that never fall, and bytes within the range.
  absl::StatusOr<const char*> Window(std::int64_t offset, std::int64_t bytes);
  /// Whether windows from the next one on stay as long as this does.
  void Keep(bool keep) { mapped_.Keep(keep); }
  /// What of the range has addresses, where Map found that better.
  MappedBytes mapped() const { return mapped_.mapped(); }
  /// All of the file as it was opened: who opens that again finds the same content, or an error.
  InputRange AsOpened() const { return {path_, 0, opened_.bytes, opened_.bytes, opened_.version}; }
  /// Fails when the file was written to since Open, or bytes of a window could not be had.
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
  MappedPart mapped_;
};

}  // namespace weir
