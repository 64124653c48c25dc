#pragma once

// Numbers in the headers of packed files. Upstream: zstd_frame.cc, member_borders.cc.

#include <cstdint>
#include <string_view>

namespace weir {

/// The number whose bytes, lowest first, these are. Requires: at most 8 bytes.
inline std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i > 0; --i) {
    number = number << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return number;
}

}  // namespace weir
