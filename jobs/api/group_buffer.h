#pragma once

// Holds emitted pairs of jobs without Combine and writes them sorted. Upstream: group_program.h.
// Downstream: sections in which equal keys lie together.

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jobs/api/byte_arena.h"
#include "jobs/api/section_blocks.h"

namespace weir {

/// Pairs in memory, in the order in which they came.
///
/// Thread-safety: one thread at a time.
/// Bounds: none of its own; who fills it watches memory_bytes().
class GroupBuffer {
 public:
  void Add(int consumer, std::string_view key, std::string_view value);

  /// Sorts by consumer and key; equal keys keep their order.
  void Sort();

  std::int64_t memory_bytes() const;

 private:
  friend absl::Status WriteSorted(absl::Span<GroupBuffer* const> buffers, SectionWriter& writer);

  struct Pair {
    std::uint64_t prefix;  // first bytes of the key, as a number that compares like them
    const char* data;      // key, then value
    std::uint32_t key_bytes;
    std::uint32_t value_bytes;
    int consumer;

    std::string_view key() const { return {data, key_bytes}; }
    std::string_view value() const { return {data + key_bytes, value_bytes}; }
    bool operator<(const Pair& other) const;
  };

  ByteArena arena_;
  std::vector<Pair> pairs_;
};

/// Merges sorted buffers into the sections of a run; equal keys in the order of the buffers.
/// Errors: those of the writer.
absl::Status WriteSorted(absl::Span<GroupBuffer* const> buffers, SectionWriter& writer);

}  // namespace weir
