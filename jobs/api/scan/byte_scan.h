#pragma once

// Finds bytes in text, 64 at a time. Upstream: TextBlock. Downstream: jobs that parse blocks.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace weir {

/// Bit i of the result tells whether matches(text[i]). Requires: 64 readable bytes.
/// This is what the vector versions below must equal, and what other processors use.
template <typename Matches>
inline std::uint64_t MaskPortable(const char* text, Matches&& matches) {
  std::uint64_t mask = 0;
  for (int i = 0; i < 64; ++i) mask |= static_cast<std::uint64_t>(matches(text[i])) << i;
  return mask;
}

/// The six white space characters of ASCII.
inline bool IsAsciiSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// As HasControl, which must equal it.
inline bool HasControlPortable(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

#if defined(__SSE2__)

namespace byte_scan_internal {

template <typename Compare>
inline std::uint64_t MaskOfVectors(const char* text, Compare&& compare) {
  std::uint64_t mask = 0;
#pragma GCC unroll 4
  for (int i = 0; i < 64; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + i));
    const auto bits = static_cast<std::uint32_t>(_mm_movemask_epi8(compare(bytes)));
    mask |= static_cast<std::uint64_t>(bits) << i;
  }
  return mask;
}

}  // namespace byte_scan_internal

/// Bit i tells whether text[i] is ASCII white space. Requires: 64 readable bytes.
inline std::uint64_t AsciiSpaceMask(const char* text) {
  return byte_scan_internal::MaskOfVectors(text, [](__m128i bytes) {
    const __m128i from_tab = _mm_sub_epi8(bytes, _mm_set1_epi8('\t'));
    const __m128i control =
        _mm_cmpeq_epi8(_mm_min_epu8(from_tab, _mm_set1_epi8('\r' - '\t')), from_tab);
    return _mm_or_si128(control, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')));
  });
}

/// Bit i tells whether text[i] is `a` or `b`. Requires: 64 readable bytes.
inline std::uint64_t EitherMask(const char* text, char a, char b) {
  return byte_scan_internal::MaskOfVectors(text, [a, b](__m128i bytes) {
    return _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(a)),
                        _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b)));
  });
}

/// Bit i tells whether text[i] is `c`. Requires: 16 readable bytes.
inline std::uint32_t EqualMask16(const char* text, char c) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
  return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c))));
}

/// Bit i tells whether a[i] and b[i] are the same. Requires: 16 readable bytes at both.
inline std::uint32_t SameMask16(const char* a, const char* b) {
  const __m128i bytes_a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
  const __m128i bytes_b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b));
  return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes_a, bytes_b)));
}

/// Bit i tells whether text[i] is below the space, or `c`. Requires: 16 readable bytes.
inline std::uint32_t ControlOrMask16(const char* text, char c) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text));
  const __m128i highest = _mm_set1_epi8(0x1f);
  const __m128i control = _mm_cmpeq_epi8(_mm_max_epu8(bytes, highest), highest);
  return static_cast<std::uint32_t>(
      _mm_movemask_epi8(_mm_or_si128(control, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)))));
}

namespace byte_scan_internal {

inline __m128i LoadLow8(const char* text) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(text));
}

inline bool AnyControl(__m128i bytes) {
  const __m128i highest = _mm_set1_epi8(0x1f);
  return _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(bytes, highest), highest)) != 0;
}

// Requires: 16 characters.
[[gnu::noinline]] inline bool HasControlLong(std::string_view text) {
  const auto any_at = [](const char* at) {
    return AnyControl(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  };
  for (std::size_t at = 0; at + 16 < text.size(); at += 16) {
    if (any_at(text.data() + at)) return true;
  }
  return any_at(text.data() + text.size() - 16);
}

}  // namespace byte_scan_internal

/// True when one of the characters is below the space. Reads no others.
[[gnu::always_inline]] inline bool HasControl(std::string_view text) {
  using namespace byte_scan_internal;
  if (text.size() < 8) return HasControlPortable(text);
  const char* const data = text.data();
  const char* const last = data + text.size() - 8;
  // The last bytes a second time, where they were among the first.
  if (text.size() <= 16) [[likely]] {
    return AnyControl(_mm_unpacklo_epi64(LoadLow8(data), LoadLow8(last)));
  }
  return HasControlLong(text);
}

#else

inline bool HasControl(std::string_view text) { return HasControlPortable(text); }

inline std::uint32_t EqualMask16(const char* text, char c) {
  std::uint32_t mask = 0;
  for (int i = 0; i < 16; ++i) mask |= static_cast<std::uint32_t>(text[i] == c) << i;
  return mask;
}

inline std::uint32_t SameMask16(const char* a, const char* b) {
  std::uint32_t mask = 0;
  for (int i = 0; i < 16; ++i) mask |= static_cast<std::uint32_t>(a[i] == b[i]) << i;
  return mask;
}

inline std::uint32_t ControlOrMask16(const char* text, char c) {
  std::uint32_t mask = 0;
  for (int i = 0; i < 16; ++i) {
    const bool found = static_cast<unsigned char>(text[i]) < ' ' || text[i] == c;
    mask |= static_cast<std::uint32_t>(found) << i;
  }
  return mask;
}

inline std::uint64_t AsciiSpaceMask(const char* text) { return MaskPortable(text, IsAsciiSpace); }

inline std::uint64_t EitherMask(const char* text, char a, char b) {
  return MaskPortable(text, [a, b](char c) { return c == a || c == b; });
}

#endif

/// Counts the bits of a mask. std::popcount is a library call where the compiler may not assume the
/// instruction; sums of neighbours are not.
inline int CountBits(std::uint64_t mask) {
  mask -= (mask >> 1) & 0x5555555555555555;
  mask = (mask & 0x3333333333333333) + ((mask >> 2) & 0x3333333333333333);
  mask = (mask + (mask >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return static_cast<int>((mask * 0x0101010101010101) >> 56);
}

/// AppendPositions may write this many entries beyond the last position.
inline constexpr int kPositionSlack = 64;

/// Writes base + i for each set bit i, in order, and returns the place behind the last. Always
/// writes in groups, because a branch per bit would be mispredicted about once per word.
inline std::uint32_t* AppendPositions(std::uint64_t mask, std::uint32_t base, std::uint32_t* out) {
  constexpr int kGroup = 8;
  // Behind the last bit it is this one that is found: what is then written lies behind the end and
  // is overwritten. Asked for the lowest bit of no bits, compilers branch.
  constexpr std::uint64_t kHighest = std::uint64_t{1} << 63;
  std::uint32_t* const end = out + CountBits(mask);
  while (mask != 0) {
#pragma GCC unroll 8
    for (int i = 0; i < kGroup; ++i) {
      out[i] = base + static_cast<std::uint32_t>(std::countr_zero(mask | kHighest));
      mask &= mask - 1;
    }
    out += kGroup;
  }
  return end;
}

}  // namespace weir
