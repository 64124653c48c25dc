#pragma once

// A block that says where its records lie in the input. Upstream: reference_sections.h writes it.
// Downstream: referenced_files.h finds them.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jobs/api/program.h"

namespace weir {

/// Records of the input that are pairs as they lie: a key of so many bytes, then the value. None
/// where both are zero.
struct RecordShape {
  std::size_t key_bytes = 0;
  std::size_t value_bytes = 0;

  std::size_t bytes() const { return key_bytes + value_bytes; }
};

/// Entries of 8 bytes: a reference, or the length of a record that follows as sections have it.
///
/// Layout, little-endian: BlockKind::kReferences; lengths (record_lengths.h) of key, value and the
/// list of files; of each file the length of its path, the path, its bytes and its version (8 bytes
/// each); then the entries. A reference is the file's number in the upper 16 bits and the offset in
/// 47; the bit between them marks a length.
/// Thread-safety: one thread at a time.
/// Checked by: tests/unit/jobs/references_test.cc.
class ReferenceBlockBuilder {
 public:
  /// Offsets are below.
  static constexpr std::int64_t kOffsetEnd = std::int64_t{1} << 47;

  explicit ReferenceBlockBuilder(RecordShape shape);

  /// Begins to refer to a file and returns the reference to its byte 0, to which offsets are added;
  /// one of all its offsets needs it once a block. Nothing where the block has no room for more.
  std::optional<std::uint64_t> AddFile(const InputRange& file);
  void AddReference(std::uint64_t reference) {
    AppendEntry(reference);
    ++records_;
    stands_for_bytes_ += record_bytes_;
  }
  /// Adds a record that is lengths, key and value.
  void AddRecord(std::string_view record);

  bool empty() const { return records_ == 0; }
  std::int64_t records() const { return records_; }
  /// Bytes of the block, about.
  std::size_t bytes() const { return file_list_.size() + entries_bytes_; }
  /// Of the block of whole records that this one stands for.
  std::size_t stands_for_bytes() const { return stands_for_bytes_; }
  /// Returns the block, valid until the next call, and begins another one.
  std::string_view Finish();

 private:
  void AppendEntry(std::uint64_t entry) {
    if (entries_.size() - entries_bytes_ < sizeof entry) Grow(sizeof entry);
    std::memcpy(entries_.data() + entries_bytes_, &entry, sizeof entry);
    entries_bytes_ += sizeof entry;
  }
  void Grow(std::size_t bytes);

  const RecordShape shape_;
  const std::size_t record_bytes_;  // with its lengths
  std::uint64_t num_files_ = 0;
  std::string file_list_;
  std::string entries_;  // and room behind them: to append to a text costs as much as the rest
  std::size_t entries_bytes_ = 0;
  std::string block_;
  std::int64_t records_ = 0;
  std::size_t stands_for_bytes_ = 1;
};

/// What a block says, as far as it is legal.
struct ReferenceBlock {
  /// A reference, or where in the block a record is.
  class Entry {
   public:
    explicit Entry(std::uint64_t bits = 0) : bits_(bits) {}
    bool is_record() const { return (bits_ & kIsRecord) != 0; }
    std::size_t file() const { return bits_ >> kFileShift; }
    std::int64_t offset() const { return static_cast<std::int64_t>(bits_ & (kIsRecord - 1)); }

    static constexpr int kFileShift = 48;
    static constexpr std::uint64_t kIsRecord = std::uint64_t{1} << 47;

   private:
    std::uint64_t bits_;
  };

  /// The record of an entry that is one: lengths, key and value.
  std::string_view RecordOf(Entry entry) const;

  RecordShape shape;
  std::vector<std::string_view> files;  // their entries in the list, for FileOf
  std::vector<Entry> entries;
  std::size_t entries_at = 0;  // where in the block the first one is
  std::size_t stands_for_bytes = 0;
  std::string_view block;
};

/// Whether a block is one of those.
bool IsOfReferences(std::string_view block);

/// Reads a block. `read` is used again; what it holds points into `block`. Errors: kDataLoss for
/// whatever no builder makes, and for what stands for more than kBlockBytesMax.
absl::Status ReadReferenceBlock(std::string_view block, ReferenceBlock& read);

/// Cuts a block behind its first `count` records: `first` and `rest` become blocks of their own.
/// Returns what the first one stands for; the rest stands for one byte more than what is left.
/// Requires: 0 < count < read.entries.size().
std::size_t CutReferenceBlock(const ReferenceBlock& read, std::size_t count, std::string& first,
                              std::string& rest);

/// Reads one of ReferenceBlock::files.
InputRange FileOf(std::string_view entry);

}  // namespace weir
