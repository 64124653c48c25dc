#pragma once

// Finds the records that a block refers to: all of them, or a few to cut it. Upstream: sections of
// runs. Downstream: referenced_sources.h, group_pieces.h.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"
#include "jobs/engine/references/reference_block.h"
#include "jobs/engine/references/referenced_files.h"

namespace weir {

/// One block at a time.
///
/// Thread-safety: one thread at a time; several finders may share their files.
/// Errors: kDataLoss for what no block of references says; those of ReferencedFiles.
/// Bounds: 8 bytes for each record of a block.
/// Checked by: tests/unit/jobs/references_test.cc.
class RecordFinder {
 public:
  /// Both outlive this.
  RecordFinder(ReferencedFiles& files, StepContext& context) : files_(files), context_(context) {}

  /// Begins with a block, which stays as it is until the next call.
  absl::Status Begin(std::string_view block);
  /// The block that Begin was given last, without an error.
  const ReferenceBlock& block() const { return block_; }

  /// Writes the block of whole records that the block stands for. Requires: room for
  /// block().stands_for_bytes.
  absl::Status FindAll(char* out);
  /// Finds the key of a record. Requires: index of 0 .. block().entries.size() - 1.
  absl::Status FindKey(std::size_t index, std::string& key);
  /// How many of the records, sorted by key, come before `end`. Looks at some of them only.
  absl::StatusOr<std::size_t> CountBefore(std::string_view end);

 private:
  // A file of the block.
  struct Opened {
    ReferencedFiles::File* file;
    const char* data;      // its byte 0; null: it has to be read
    std::int64_t last_at;  // the last offset at which a record may begin
  };

  // Valid until the next call.
  absl::StatusOr<std::string_view> KeyOf(std::size_t index);

  ReferencedFiles& files_;
  StepContext& context_;
  ReferenceBlock block_;
  std::vector<Opened> opened_;
  std::string lengths_;   // before each record that the block refers to
  std::string read_key_;  // of a file that is not mapped
};

}  // namespace weir
