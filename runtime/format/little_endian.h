#pragma once

// Fixed-width integers of files and frames, little-endian on every machine.

#include <cstddef>
#include <type_traits>

namespace weir::format {

/// Writes sizeof(value) bytes at `out`.
template <typename UInt>
void PutLittleEndian(UInt value, char* out) {
  static_assert(std::is_unsigned_v<UInt>);
  for (std::size_t i = 0; i < sizeof(UInt); ++i) {
    out[i] = static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
}

/// Reads sizeof(UInt) bytes at `in`.
template <typename UInt>
UInt GetLittleEndian(const char* in) {
  static_assert(std::is_unsigned_v<UInt>);
  UInt value = 0;
  for (std::size_t i = 0; i < sizeof(UInt); ++i) {
    value |= static_cast<UInt>(static_cast<unsigned char>(in[i])) << (8 * i);
  }
  return value;
}

}  // namespace weir::format
