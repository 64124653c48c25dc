#include "runtime/format/xxh3_stream.h"

#if defined(__x86_64__)
// Lets the library take the widest vectors that this processor has: four times the speed of its
// plain functions, which know SSE2 only. Renames what is called below.
#include <xxh_x86dispatch.h>
#endif

#include "absl/strings/str_cat.h"

namespace weir::format {
namespace {

// The library chooses at its first long checksum. Before main, so that no two threads do it at
// once.
constexpr char kLong[512] = {};
[[maybe_unused]] const std::uint64_t kChosen = Xxh3({kLong, sizeof kLong});

}  // namespace

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
