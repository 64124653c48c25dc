#pragma once

// Records of a section as blocks: length of key, length of value, key, value. A record that does
// not fit into one block goes on in the next. Upstream: map steps. Downstream: reduce steps,
// through RunSink and RunSource.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"

namespace weir {

// First byte of a block.
enum class BlockKind : char {
  kWholeRecords = 0,
  kRecordPart = 1,      // more of the same record follows
  kRecordLastPart = 2,  // ends it
  kReferences = 3,      // refers to whole records of the input (engine/references)
};

/// Blocks are filled up to this size, which keeps all buffers of a reducer with many producers
/// small.
inline constexpr std::size_t kBlockFillBytes = 256 << 10;

/// Writes records into the sections of a run.
///
/// Thread-safety: one thread at a time.
/// Errors: those of the sink; StepError USER_ERROR naming the key of a pair beyond kPairBytesMax.
/// Bounds: one block.
/// Checked by: tests/unit/jobs/section_blocks_test.cc.
class SectionWriter {
 public:
  explicit SectionWriter(RunSink& sink)
      : sink_(sink), block_(std::make_unique_for_overwrite<char[]>(kBlockFillBytes)) {}

  absl::Status Begin(int consumer);
  absl::Status Add(std::string_view key, std::string_view value);
  /// Adds a record that is lengths, key and value already (record_lengths.h).
  absl::Status AddEncoded(std::string_view record);
  /// The same for one whose lengths lie elsewhere.
  absl::Status AddEncoded(std::string_view lengths, std::string_view key_and_value);
  /// Ends the last section.
  absl::Status Finish() { return Flush(); }

  std::int64_t records() const { return records_; }

 private:
  absl::Status Flush();
  // Counts a record of at most so many bytes that follows.
  absl::Status MakeRoom(std::size_t bytes);
  absl::Status AddLong(std::string_view record);

  RunSink& sink_;
  const std::unique_ptr<char[]> block_;  // kBlockFillBytes
  std::size_t block_bytes_ = 0;
  std::int64_t block_records_ = 0;
  std::int64_t records_ = 0;
};

/// Returns the error for a record of a section whose key or value does not decode.
absl::Status DamagedSection();

/// One record; valid until the next call.
struct SectionRecord {
  std::string_view key;
  std::string_view value;
};

/// Reads the records of one section. Trusts nothing: lengths are checked.
///
/// Thread-safety: one thread at a time.
/// Errors: those of the source; kDataLoss for blocks that hold no records.
class SectionReader {
 public:
  explicit SectionReader(RunSource& source) : source_(source) {}

  /// Reads the next record; false at the end.
  absl::StatusOr<bool> Next(SectionRecord& record);

  /// Reads the next record where it lies in the block that is being read and is short: most do.
  /// False leaves everything to Next.
  bool NextInBlock(SectionRecord& record) {
    constexpr std::size_t kLengthsBytes = 2;
    if (left_.size() < kLengthsBytes) return false;
    const auto key_bytes = static_cast<unsigned char>(left_[0]);
    const auto value_bytes = static_cast<unsigned char>(left_[1]);
    const std::size_t bytes = kLengthsBytes + key_bytes + value_bytes;
    if ((key_bytes | value_bytes) >= 0x80 || bytes > left_.size()) return false;
    const char* const key = left_.data() + kLengthsBytes;
    record = {{key, key_bytes}, {key + key_bytes, value_bytes}};
    left_.remove_prefix(bytes);
    return true;
  }

  /// Gives all records of the next block, or the next long one, as they lie: lengths, key and value
  /// of each, not looked at. False at the end. Requires: at_block_end(). Valid until the next call.
  absl::StatusOr<bool> NextRecords(std::string_view& records) {
    absl::StatusOr<bool> more = NextBlock();
    records = std::exchange(left_, {});
    return more;
  }

  /// True when the next call reads another block, so that the bytes of earlier records vanish.
  bool at_block_end() const { return left_.empty(); }
  /// Bytes that are readable from the beginning of the last record to the end of its block.
  const char* block_end() const { return left_.data() + left_.size(); }

 private:
  absl::StatusOr<bool> NextBlock();
  absl::Status ReadParts(absl::Span<const char> part);

  RunSource& source_;
  std::string_view left_;
  std::string long_record_;
};

}  // namespace weir
