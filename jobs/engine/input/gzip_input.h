#pragma once

// Reads the text of a gzip file from beginning to end. Upstream: InputRange. Downstream:
// delimited_blocks.h, fixed_blocks.h.

#include <zlib.h>

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "jobs/engine/input/input_file.h"

namespace weir {

/// One open gzip file; several members one after the other count as one text, and zeros behind the
/// last are padding.
///
/// Thread-safety: one thread at a time.
/// Errors: those of InputFile; StepError DATA_LOSS with file and offset (in the file as it lies
///   there) for one that is cut short or damaged.
/// Bounds: one buffer of compressed bytes and zlib's window, however much a file expands.
/// Checked by: tests/unit/jobs/gzip_input_test.cc.
class GzipInput {
 public:
  GzipInput() = default;
  ~GzipInput();
  GzipInput(const GzipInput&) = delete;
  GzipInput& operator=(const GzipInput&) = delete;

  /// Requires: a range that begins at 0.
  absl::Status Open(const InputRange& range);
  /// Reads the next `bytes` bytes of the text; fewer at its end only.
  absl::StatusOr<std::int64_t> Read(char* into, std::int64_t bytes);
  absl::Status CheckUnchanged() const { return file_.CheckUnchanged(); }

  /// Bytes of the file that were decompressed so far, for progress.
  std::int64_t file_position() const { return read_ - stream_.avail_in; }
  const std::string& path() const { return file_.path(); }

 private:
  // Brings compressed bytes; leaves avail_in at 0 at the end of the file.
  absl::Status Fill();
  absl::Status Inflate();
  void SkipPadding();
  absl::Status Damaged(const char* how) const;

  InputFile file_;
  std::int64_t file_bytes_ = 0;
  std::int64_t read_ = 0;  // bytes of the file that were read
  std::vector<unsigned char> compressed_;
  z_stream stream_{};
  bool ready_ = false;     // stream_ is to be ended
  bool in_member_ = true;  // a file holds at least one
};

}  // namespace weir
