#pragma once

// Asks for records that lie all over the memory before they are looked at. Upstream:
// group_buffer.h, engine/references.

#include <algorithm>
#include <cstddef>

namespace weir {

/// How far ahead records are asked for: their places in memory have no order that the processor
/// could guess.
inline constexpr std::size_t kAheadRecords = 12;

/// The byte of a record of so many bytes that PrefetchRecord asks for at last; 0 bytes: nobody
/// knows how many.
inline std::size_t LastPrefetched(std::size_t record_bytes) {
  return std::min<std::size_t>(std::max<std::size_t>(record_bytes, 1), 192) - 1;
}

/// Asks for the lines of the first bytes and for that of `last`, which is a third one more often
/// than not in records of a hundred bytes. In line: GCC takes a function that does no more for one
/// without effects and leaves calls of it out. Any thread, any address.
[[gnu::always_inline]] inline void PrefetchRecord(const char* record, std::size_t last) {
  constexpr std::size_t kCacheLineBytes = 64;
  __builtin_prefetch(record);
  __builtin_prefetch(record + kCacheLineBytes);
  __builtin_prefetch(record + last);
}

}  // namespace weir
