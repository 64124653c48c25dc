#pragma once

// Holds pairs of a slot and sorts them. Upstream: group_layer.h, combine_one_input.h. Downstream:
// sorted_pairs.h, those of all slots; spilling_pairs.h.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jobs/engine/references/reference_block.h"
#include "jobs/engine/sections/record_lengths.h"
#include "jobs/engine/table/byte_arena.h"
#include "jobs/engine/table/slab_array.h"
#include "jobs/engine/table/slab_store.h"

namespace weir {

/// Whether the values of a key have an order of their own.
enum class ValueOrder { kOfInput, kBySortKey };

/// Pairs in memory, by consumer, in the order in which they came.
///
/// Thread-safety: one thread at a time.
/// Bounds: none of its own; who fills it watches memory_bytes(). A pair costs its own bytes, their
///   lengths (2 bytes when both are short) and 16 bytes; one in place its own bytes, which have to
///   stay in the page cache, and 16.
/// Checked by: tests/unit/jobs/group_buffer_test.cc, group_layer_test.cc.
class GroupBuffer {
 public:
  /// Buffers that are merged should have one store: what one of them frees the next one uses.
  explicit GroupBuffer(ValueOrder value_order = ValueOrder::kOfInput, RecordShape shape = {},
                       std::shared_ptr<SlabStore> slabs = std::make_shared<SlabStore>());

  /// `sort_key` is not part of what is written.
  void Add(int consumer, std::string_view key, std::string_view value,
           std::string_view sort_key = {});

  /// Adds a pair without a sort key where it lies, as long as this is used. Requires: a record of
  /// the shape.
  void AddInPlace(int consumer, const char* record);

  /// Adds pairs that are encoded already, one behind the other: lengths, key and value, as sections
  /// hold them. False, with some of them added, where they are not. Requires: no sort keys.
  bool AddEncoded(int consumer, std::string_view pairs);

  /// Sorts each consumer's pairs by key, then by sort key; equal ones keep their order. Nothing may
  /// be added afterwards.
  void Sort();

  /// Calls visit(consumer, key, value) for each pair, consumer by consumer, each sorted, until it
  /// returns an error. Requires: Sort was called.
  absl::Status Visit(const std::function<absl::Status(int consumer, std::string_view key,
                                                      std::string_view value)>& visit) const;

  /// Begins again without pairs.
  void Clear();

  std::int64_t size() const { return size_; }
  /// What the pairs take now and while they are sorted.
  std::int64_t memory_bytes() const;
  /// Bytes of the pairs in place.
  std::int64_t in_place_bytes() const { return in_place_bytes_; }

 private:
  friend class SortedPairs;

  /// Marks the address of a record in place: no address has this bit.
  static constexpr std::uint64_t kInPlace = std::uint64_t{1} << 63;

  /// A pair: the first bytes of its key as a number that compares like them, and the address of the
  /// record. That is as sections hold it, and behind it lies the sort key with its length, if there
  /// is one; or in place, without lengths.
  struct Entry {
    std::uint64_t prefix;
    std::uint64_t place;

    bool in_place() const { return (place & kInPlace) != 0; }
    const char* record() const { return reinterpret_cast<const char*>(place & ~kInPlace); }
    /// Lengths, key and value of one that is not in place.
    std::string_view encoded() const {
      const char* at = record();
      const std::size_t key_bytes = ReadLength(at);
      const std::size_t value_bytes = ReadLength(at);
      return {record(), static_cast<std::size_t>(at - record()) + key_bytes + value_bytes};
    }
  };
  static_assert(sizeof(const char*) == sizeof(std::uint64_t));

  struct Pair {
    std::string_view key;
    std::string_view value;
  };

  // A huge page of entries.
  static constexpr std::size_t kChunkEntriesMax = 128 << 10;

  struct Chunk {
    SlabArray<Entry> entries;
    std::size_t room = 0;
  };

  /// The pairs of one consumer: chunks while they come, so that nothing is copied when there are
  /// more; then one array.
  struct Pairs {
    /// What is in chunk `index`: the last one need not be full.
    absl::Span<const Entry> EntriesOf(std::size_t index) const {
      const Chunk& chunk = chunks[index];
      const std::size_t left =
          index + 1 == chunks.size() ? static_cast<std::size_t>(end - next) : 0;
      return {chunk.entries.get(), chunk.room - left};
    }

    std::size_t size() const { return room - static_cast<std::size_t>(end - next); }

    std::vector<Chunk> chunks;
    std::size_t room = 0;   // of all chunks; once there are none, how many pairs are sorted
    Entry* next = nullptr;  // in the last chunk, up to `end`
    Entry* end = nullptr;
    SlabArray<Entry> sorted;
    std::size_t bytes = 0;                  // of the records
    std::uint64_t low = ~std::uint64_t{0};  // the least prefix
    std::uint64_t high = 0;                 // the largest one
  };

  void AddEntry(int consumer, std::size_t record_bytes, Entry entry);
  void AddConsumer(std::size_t consumer);
  void AddChunk(Pairs& pairs);
  std::string_view KeyOf(const Entry& entry) const;
  Pair PairOf(const Entry& entry) const {
    const char* at = entry.record();
    const std::size_t key_bytes = entry.in_place() ? shape_.key_bytes : ReadLength(at);
    const std::size_t value_bytes = entry.in_place() ? shape_.value_bytes : ReadLength(at);
    return {{at, key_bytes}, {at + key_bytes, value_bytes}};
  }
  bool BeforeBehindPrefix(const Entry& a, const Entry& b) const;
  void JoinChunks(Pairs& pairs) const;
  // Sorts entries[0, size); equal ones keep their order. Uses room for as many at `spare`.
  void SortEntries(Entry* entries, std::size_t size, Entry* spare) const;

  const bool by_sort_key_;
  const RecordShape shape_;
  std::string shape_lengths_;  // what sections have before a record of the shape
  // A slot has one buffer. Small pages of so many bytes take as long to find as a huge one.
  static constexpr std::int64_t kUnitsFrom = 512 << 10;
  // Of emitted pairs not that of the program: they are in memory while they are emitted only, and
  // who reduces them has no use for what they took; the kernel has, for the files of runs and
  // parts.
  const std::shared_ptr<SlabStore> slabs_;
  ByteArena arena_{slabs_, kUnitsFrom};
  std::vector<Pairs> consumers_;
  std::int64_t size_ = 0;
  std::size_t largest_ = 0;  // room for pairs of one consumer
  std::int64_t entry_bytes_ = 0;
  std::int64_t in_place_bytes_ = 0;
};

}  // namespace weir
