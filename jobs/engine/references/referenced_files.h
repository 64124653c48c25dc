#pragma once

// The files that blocks of a step's inputs refer to. Upstream: reference_block.h. Downstream:
// record_finder.h.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/engine/input/input_file.h"

namespace weir {

/// Input files that blocks refer to, each opened once and mapped whole where it can be.
///
/// Thread-safety: any thread.
/// Errors: those of InputFile; among them that a file is no longer what the map step saw.
/// Bounds: an open file and its addresses for each; resident is what was touched of them, which is
///   page cache.
/// Checked by: tests/unit/jobs/references_test.cc.
class ReferencedFiles {
 public:
  class File {
   public:
    /// Its byte 0 where it is mapped, else null: records have to be read.
    const char* data() const { return mapped_.data; }
    std::int64_t bytes() const { return bytes_; }
    absl::Status Read(std::int64_t offset, char* into, std::int64_t bytes);

   private:
    friend class ReferencedFiles;

    std::mutex mutex_;  // guards reads from file_
    InputFile file_;
    MappedBytes mapped_;
    std::int64_t bytes_ = 0;
  };

  /// The file of an entry of ReferenceBlock::files.
  absl::StatusOr<File*> Open(std::string_view entry);
  /// Whether all that was seen of them, until now, was what the files held: nothing counts that was
  /// made of it before this says so.
  absl::Status CheckUnchanged() const;

 private:
  mutable std::mutex mutex_;  // guards files_
  std::map<std::string, std::unique_ptr<File>, std::less<>> files_;
};

}  // namespace weir
