#pragma once

// The beginning of a key as a number. Upstream: keys as bytes (key_codec.h). Downstream: sorting
// and merging, which then compare most keys without touching them.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace weir {

/// Returns the first eight bytes of a key, zeros where it is shorter. Numbers that differ are in
/// the order of the keys; equal ones say nothing.
inline std::uint64_t KeyPrefix(std::string_view key) {
  std::uint64_t prefix = 0;
  if (key.size() >= sizeof prefix) [[likely]] {
    std::memcpy(&prefix, key.data(), sizeof prefix);
  } else if (!key.empty()) {
    std::memcpy(&prefix, key.data(), key.size());
  }
  return __builtin_bswap64(prefix);
}

/// Returns the place in [0, 1) of a key among all strings of bytes, by its first 53 bits: what
/// `Partition` of a job returns whose parts shall be sorted one after the other. Never falls as
/// keys rise. The engine tells places apart to 2^-40, so keys that share their first five bytes go
/// to one reducer.
inline double PlaceInKeyOrder(std::string_view key) {
  return static_cast<double>(KeyPrefix(key) >> 11) * 0x1p-53;
}

}  // namespace weir
