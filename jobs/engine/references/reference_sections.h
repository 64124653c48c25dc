#pragma once

// Writes sections whose records are in the input, by reference. Upstream: pairs in place,
// sorted. Downstream: RunSink; referenced_files.h reads them.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "jobs/api/program.h"
#include "jobs/engine/references/input_references.h"
#include "jobs/engine/references/reference_block.h"
#include "jobs/engine/sections/record_lengths.h"
#include "jobs/engine/sections/section_blocks.h"

namespace weir {

/// As SectionWriter, of records that stay in the input, and of some others between them. Blocks
/// stand for blocks as large as that one's.
///
/// Thread-safety: one thread at a time.
/// Errors: those of the sink.
/// Bounds: one block.
/// Checked by: tests/unit/jobs/references_test.cc.
class ReferenceSectionWriter {
 public:
  /// `references` outlives this.
  ReferenceSectionWriter(RunSink& sink, const InputReferences& references, RecordShape shape)
      : sink_(sink),
        references_(references),
        shape_(shape),
        record_bytes_(2 * kLengthBytesMax + shape.bytes()),
        block_(shape),
        long_records_(sink),
        file_references_(references.files().size()) {}

  absl::Status Begin(int consumer);
  /// Adds a record of the shape that lies in an input.
  absl::Status AddInPlace(const char* record) {
    if (absl::Status status = MakeRoom(record_bytes_); !status.ok()) return status;
    if (!IsInPart(record) && !FindPart(record)) return AddCopy(record);
    block_.AddReference(part_reference_ + static_cast<std::uint64_t>(record - part_begin_));
    return absl::OkStatus();
  }
  /// Adds a record that is lengths, key and value.
  absl::Status AddEncoded(std::string_view record);
  /// Ends the last section.
  absl::Status Finish() { return Flush(); }

 private:
  absl::Status Flush();
  // Makes room in the block for a record that has, or stands for, so many bytes. Of short records,
  // or of many files, the block itself may be the larger one.
  absl::Status MakeRoom(std::size_t bytes) {
    const bool full = block_.stands_for_bytes() + bytes > kBlockFillBytes ||
                      block_.bytes() + bytes > kBlockFillBytes;
    return full ? Flush() : absl::OkStatus();
  }
  bool IsInPart(const char* record) const {
    return !std::less<>()(record, part_begin_) && !std::less<>()(part_last_, record);
  }
  // Makes the part of the input where the record lies that of the block; false where there is none.
  bool FindPart(const char* record);
  absl::Status AddCopy(const char* record);

  RunSink& sink_;
  const InputReferences& references_;
  const RecordShape shape_;
  const std::size_t record_bytes_;  // with its lengths
  ReferenceBlockBuilder block_;
  SectionWriter long_records_;  // for those beyond a block
  // By file: the block's reference to its byte 0; nothing: the block does not refer to it.
  std::vector<std::optional<std::uint64_t>> file_references_;
  // Most records come from the part of an input that the one before came from.
  const char* part_begin_ = nullptr;
  const char* part_last_ = nullptr;   // where the last record may begin; null: no part
  std::uint64_t part_reference_ = 0;  // to part_begin_
};

}  // namespace weir
