#pragma once

// Checksums of blocks, frames and parts.

#define XXH_STATIC_LINKING_ONLY  // gives XXH3_state_t its size
#include <xxhash.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::format {

/// Returns the XXH3-64 of `bytes`.
std::uint64_t Xxh3(std::string_view bytes, std::uint64_t seed = 0);

/// Returns the 16 hex digits that manifests show.
std::string Xxh3Hex(std::uint64_t checksum);

/// Computes XXH3-64 over bytes that come in pieces.
class Xxh3Stream {
 public:
  explicit Xxh3Stream(std::uint64_t seed = 0);
  void Append(std::string_view bytes);
  /// Returns the checksum of all bytes so far.
  std::uint64_t Digest() const;
  void Reset(std::uint64_t seed = 0);

 private:
  XXH3_state_t state_;
};

}  // namespace weir::format
