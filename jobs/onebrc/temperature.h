#pragma once

// Temperatures as whole tenths of a degree. Upstream: rows. Downstream:
// summarize_stations.h.

#include <cstdint>
#include <cstring>

namespace weir::onebrc {

/// Parses "-?d?d.d" of `bytes` bytes; returns false for anything else.
/// Requires: 8 readable bytes at `text`, whatever `bytes` is.
[[gnu::always_inline]] inline bool ParseTenths(const char* text, std::size_t bytes,
                                               std::int32_t& tenths) {
  std::uint64_t word;
  std::memcpy(&word, text, sizeof word);
  const std::uint64_t negative = *text == '-' ? 1 : 0;
  const std::uint64_t digits = bytes - negative;  // "d.d" or "dd.d"
  if (digits - 3 > 1) return false;
  // Four characters "dd.d" in the upper half of the word; a missing first one becomes '0'.
  const auto characters =
      static_cast<std::uint32_t>(((word >> (8 * negative)) << (64 - 8 * digits)) >> 32) |
      static_cast<std::uint32_t>(digits == 3 ? '0' : 0);
  const std::uint32_t values = characters ^ 0x302e3030;
  // A digit's value is at most 9, so adding 0x76 leaves its top bit clear; the point must be zero.
  if (((values | (values + 0x76007676)) & 0x80ff8080) != 0) return false;
  const auto magnitude = static_cast<std::int32_t>((values & 0xff) * 100 +
                                                   ((values >> 8) & 0xff) * 10 + (values >> 24));
  tenths = negative != 0 ? -magnitude : magnitude;
  return true;
}

/// Returns the mean in tenths, rounded half up, towards positive infinity. Requires: count > 0.
inline std::int64_t MeanTenths(std::int64_t sum_tenths, std::int64_t count) {
  const std::int64_t doubled = 2 * sum_tenths + count;
  const std::int64_t quotient = doubled / (2 * count);
  return doubled % (2 * count) < 0 ? quotient - 1 : quotient;
}

}  // namespace weir::onebrc
