#pragma once

// Lengths in front of bytes, seven bits a byte, low ones first. Upstream: section_blocks.h,
// group_buffer.h. Downstream: runs.

#include <cstddef>
#include <string>
#include <string_view>

#include "jobs/api/bad_record.h"

namespace weir {

/// Most that key and value of one emitted pair may have together, in bytes: as long as a record for
/// each of them, which lie in memory whole.
inline constexpr std::size_t kPairBytesMax = 128 << 20;
static_assert(kPairBytesMax == std::size_t{2 * kRecordBytesMax});

/// A length takes at most this many bytes.
inline constexpr std::size_t kLengthBytesMax = 5;

inline std::size_t LengthBytes(std::size_t length) {
  std::size_t bytes = 1;
  for (; length >= 0x80; length >>= 7) ++bytes;
  return bytes;
}

/// Writes a length and returns the place behind it. Requires: room for LengthBytes(length).
inline char* WriteLength(std::size_t length, char* out) {
  for (; length >= 0x80; length >>= 7) *out++ = static_cast<char>(length | 0x80);
  *out++ = static_cast<char>(length);
  return out;
}

inline void AppendLength(std::size_t length, std::string& out) {
  char bytes[kLengthBytesMax];
  out.append(bytes, static_cast<std::size_t>(WriteLength(length, bytes) - bytes));
}

/// Removes a length from the front of `in`; false when there is none.
inline bool TakeLength(std::string_view& in, std::size_t& length) {
  length = 0;
  for (int shift = 0; shift < 35 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    length |= static_cast<std::size_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

/// Reads a length that WriteLength wrote and moves `at` behind it.
inline std::size_t ReadLength(const char*& at) {
  std::size_t length = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    length |= static_cast<std::size_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return length;
  }
}

}  // namespace weir
