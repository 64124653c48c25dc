#include "runtime/format/xxh3_stream.h"

#include "absl/strings/str_cat.h"

namespace weir::format {

std::uint64_t Xxh3(std::string_view bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::string Xxh3Hex(std::uint64_t checksum) {
  return absl::StrCat(absl::Hex(checksum, absl::kZeroPad16));
}

Xxh3Stream::Xxh3Stream(std::uint64_t seed) {
  XXH3_INITSTATE(&state_);
  Reset(seed);
}

void Xxh3Stream::Append(std::string_view bytes) {
  XXH3_64bits_update(&state_, bytes.data(), bytes.size());
}

std::uint64_t Xxh3Stream::Digest() const { return XXH3_64bits_digest(&state_); }

void Xxh3Stream::Reset(std::uint64_t seed) { XXH3_64bits_reset_withSeed(&state_, seed); }

}  // namespace weir::format
