#pragma once

// The form in which hash tables compare keys: up to 16 bytes in two words, longer ones by prefix
// and pointer; and the hash that places a key, the same on every machine. Upstream: key_codec.h.
// Downstream: combine_table.h, key_ranges.h.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "jobs/api/key_codec.h"

namespace weir {

static_assert(std::endian::native == std::endian::little, "words are loaded as little-endian");

/// Keys up to this long are held in the table entry itself.
inline constexpr std::uint32_t kInlineKeyBytes = 16;
static_assert(kInlineKeyBytes == ShortKey::kBytesMax);

/// A key on its way into a table. `data` is read only when the key is longer than kInlineKeyBytes.
struct PackedKey {
  std::uint64_t word0 = 0;
  std::uint64_t word1 = 0;  // zero when the key is longer than kInlineKeyBytes
  std::uint64_t hash = 0;
  const char* data = nullptr;
  std::uint32_t bytes = 0;
};

namespace packed_key_internal {

inline std::uint64_t Load(const char* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// Multiplies to 128 bits and folds; both halves of the product take part in every bit.
inline std::uint64_t Mix(std::uint64_t a, std::uint64_t b) {
#ifdef __x86_64__
  // GCC keeps a number of 128 bits in memory where registers are few.
  std::uint64_t high = 0;
  asm("mulq %[b]" : "+a"(a), "=d"(high) : [b] "r"(b) : "cc");
  return a ^ high;
#else
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#endif
}

// Odd constants with no pattern in their bits (digits of the golden ratio and of square roots).
inline constexpr std::uint64_t kMix0 = 0x9e3779b97f4a7c15;
inline constexpr std::uint64_t kMix1 = 0xbb67ae8584caa73b;
inline constexpr std::uint64_t kMix2 = 0x3c6ef372fe94f82b;

// Row n keeps the first n of 16 bytes; looked up, so that the length of a key costs no branch. Of
// each word apart: side by side, compilers take both at once and have to part them again.
struct Masks {
  std::array<std::uint64_t, kInlineKeyBytes + 1> word0{};
  std::array<std::uint64_t, kInlineKeyBytes + 1> word1{};
};
inline constexpr Masks kMasks = [] {
  Masks masks;
  for (unsigned n = 0; n <= kInlineKeyBytes; ++n) {
    masks.word0[n] = n >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * n)) - 1;
    masks.word1[n] = n <= 8    ? 0
                     : n == 16 ? ~std::uint64_t{0}
                               : (std::uint64_t{1} << (8 * (n - 8))) - 1;
  }
  return masks;
}();

inline std::uint64_t HashLong(const char* data, std::uint32_t bytes) {
  std::uint64_t hash = kMix2 ^ bytes;
  std::uint32_t i = 0;
  for (; i + 16 <= bytes; i += 16) {
    hash = Mix(Load(data + i) ^ kMix0, Load(data + i + 8) ^ hash);
  }
  // The last 16 bytes, some of them for the second time: no tail to treat byte by byte.
  return Mix(Load(data + bytes - 16) ^ kMix1, Load(data + bytes - 8) ^ hash);
}

}  // namespace packed_key_internal

/// Packs and hashes a key. Requires: 16 readable bytes at `data`, whatever the length of the key.
[[gnu::always_inline]] inline PackedKey PackKey(const char* data, std::uint32_t bytes) {
  using namespace packed_key_internal;
  PackedKey key;
  key.data = data;
  key.bytes = bytes;
  key.word0 = Load(data);
  if (bytes <= kInlineKeyBytes) [[likely]] {
    key.word0 &= kMasks.word0[bytes];
    key.word1 = Load(data + 8) & kMasks.word1[bytes];
    key.hash = Mix(key.word0 ^ kMix0, (key.word1 + bytes) ^ kMix1);
  } else {
    key.hash = HashLong(data, bytes);
  }
  return key;
}

/// Packs and hashes a key that is there as numbers.
[[gnu::always_inline]] inline PackedKey PackKey(const ShortKey& short_key) {
  using namespace packed_key_internal;
  PackedKey key;
  key.word0 = short_key.word0();
  key.word1 = short_key.word1();
  key.bytes = short_key.bytes();
  key.hash = Mix(key.word0 ^ kMix0, (key.word1 + key.bytes) ^ kMix1);
  return key;
}

/// Returns the hash that PackKey gives the key, for bytes without anything readable behind them.
inline std::uint64_t HashKey(std::string_view key) {
  if (key.size() > kInlineKeyBytes) {
    return packed_key_internal::HashLong(key.data(), static_cast<std::uint32_t>(key.size()));
  }
  char padded[kInlineKeyBytes] = {};
  if (!key.empty()) std::memcpy(padded, key.data(), key.size());
  return PackKey(padded, static_cast<std::uint32_t>(key.size())).hash;
}

/// Keys are placed on [0, kKeyPositions): the first 40 bits of the hash, so that a table entry that
/// keeps 32 bits in a sub-table of the first 8 knows its place.
inline constexpr int kKeyPositionBits = 40;
inline constexpr std::uint64_t kKeyPositions = std::uint64_t{1} << kKeyPositionBits;

inline std::uint64_t KeyPosition(std::uint64_t hash) { return hash >> (64 - kKeyPositionBits); }

}  // namespace weir
