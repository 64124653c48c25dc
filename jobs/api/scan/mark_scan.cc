#include "jobs/api/scan/mark_scan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "jobs/api/scan/byte_scan.h"

#if defined(__x86_64__) && defined(__GNUC__) && __has_include(<sys/platform/x86.h>)
#define WEIR_SCAN_X86 1
#include <immintrin.h>
// glibc says what may be used, as GLIBC_TUNABLES leave it; its header takes C's name in C++, too.
#ifdef __clang__
#define _Bool bool
#endif
#include <sys/platform/x86.h>
#endif

namespace weir {
namespace {

constexpr std::int64_t kWordBytes = 64;

// So far ahead of what is looked at that a strip is there when its turn comes.
constexpr std::int64_t kAheadBytes = 1024;

// Leaves the first `bytes` bits, of which there may be more than there are.
inline std::uint64_t KeepFirst(std::uint64_t mask, std::int64_t bytes) {
  return bytes < kWordBytes ? mask & ~(~std::uint64_t{0} << bytes) : mask;
}

// One loop for each kind of places.
struct Functions {
  std::uint32_t* (*either)(const char* text, std::int64_t bytes, char a, char b, std::uint32_t base,
                           std::uint32_t* places);
  std::uint32_t* (*sparse)(const char* text, std::int64_t bytes, char mark, std::uint32_t* places);
  std::uint32_t* (*fields_before)(const char* text, std::int64_t bytes, char field_end,
                                  char row_end, char stop, std::uint32_t* places,
                                  std::uint32_t* rows);
  std::uint32_t* (*word_edges)(const char* text, std::int64_t bytes, std::uint32_t base,
                               bool& in_word, std::uint32_t* places);
};

std::uint32_t* EitherAny(const char* text, std::int64_t bytes, char a, char b, std::uint32_t base,
                         std::uint32_t* places) {
  for (std::int64_t at = 0; at < bytes; at += kWordBytes) {
    __builtin_prefetch(text + at + kAheadBytes);
    places = AppendPositions(KeepFirst(EitherMask(text + at, a, b), bytes - at),
                             base + static_cast<std::uint32_t>(at), places);
  }
  return places;
}

std::uint32_t* SparseAny(const char* text, std::int64_t bytes, char mark, std::uint32_t* places) {
  return EitherAny(text, bytes, mark, mark, 0, places);
}

std::uint32_t* FieldsBeforeAny(const char* text, std::int64_t bytes, char field_end, char row_end,
                               char stop, std::uint32_t* places, std::uint32_t* rows) {
  const std::uint32_t* const first = places;
  for (std::int64_t at = 0; at < bytes; at += kWordBytes) {
    __builtin_prefetch(text + at + kAheadBytes);
    if (EitherMask(text + at, stop, stop) != 0) break;
    const std::uint32_t* const before = places;
    places = AppendPositions(KeepFirst(EitherMask(text + at, field_end, row_end), bytes - at),
                             static_cast<std::uint32_t>(at), places);
    for (const std::uint32_t* place = before; place != places;) {
      // Written whether it counts or not, because a branch would be mispredicted.
      const bool ends_row = text[*place++] == row_end;
      *rows = static_cast<std::uint32_t>(place - first);
      rows += ends_row ? 1 : 0;
    }
  }
  return rows;
}

std::uint32_t* WordEdgesAny(const char* text, std::int64_t bytes, std::uint32_t base, bool& in_word,
                            std::uint32_t* places) {
  std::uint64_t before = in_word ? 1 : 0;
  for (std::int64_t at = 0; at < bytes; at += kWordBytes) {
    __builtin_prefetch(text + at + kAheadBytes);
    const std::uint64_t letters = KeepFirst(~AsciiSpaceMask(text + at), bytes - at);
    places = AppendPositions(letters ^ (letters << 1 | before),
                             base + static_cast<std::uint32_t>(at), places);
    before = letters >> 63;
  }
  in_word = before != 0;
  return places;
}

#ifdef WEIR_SCAN_X86

#define WEIR_AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#define WEIR_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,avx2,bmi,bmi2,lzcnt,popcnt")))

// 64 bytes.
struct Vectors {
  __m256i low;
  __m256i high;
};

WEIR_AVX2 inline Vectors Load(const char* text) {
  const auto* const from = reinterpret_cast<const __m256i*>(text);
  return {_mm256_loadu_si256(from), _mm256_loadu_si256(from + 1)};
}

WEIR_AVX2 inline std::uint64_t MaskOf(__m256i low, __m256i high) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(high))) << 32;
}

WEIR_AVX2 inline __m256i IsEither(__m256i bytes, __m256i a, __m256i b) {
  return _mm256_or_si256(_mm256_cmpeq_epi8(bytes, a), _mm256_cmpeq_epi8(bytes, b));
}

WEIR_AVX2 inline __m256i IsSpace(__m256i bytes) {
  const __m256i from_tab = _mm256_sub_epi8(bytes, _mm256_set1_epi8('\t'));
  const __m256i control =
      _mm256_cmpeq_epi8(_mm256_min_epu8(from_tab, _mm256_set1_epi8('\r' - '\t')), from_tab);
  return _mm256_or_si256(control, _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(' ')));
}

// Which bits of a byte are set, lowest first, a byte each.
constexpr auto kBitsOfByte = [] {
  std::array<std::uint64_t, 256> rows{};
  for (std::size_t byte = 0; byte < rows.size(); ++byte) {
    int found = 0;
    for (std::uint64_t bit = 0; bit < 8; ++bit) {
      if ((byte >> bit & 1) != 0) rows[byte] |= bit << (8 * found++);
    }
  }
  return rows;
}();

// As AppendPositions. Eight bits at a time, whatever they are: words differ in how many marks they
// have, and a loop over marks would be foretold wrongly, or write twelve where there are two.
WEIR_AVX2 inline std::uint32_t* AppendAvx2(std::uint64_t mask, std::uint32_t base,
                                           std::uint32_t* places) {
  __m256i bases = _mm256_set1_epi32(static_cast<int>(base));
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i, mask >>= 8) {
    const auto byte = static_cast<std::uint32_t>(mask & 0xff);
    const __m128i bits =
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kBitsOfByte.data() + byte));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(places),
                        _mm256_add_epi32(_mm256_cvtepu8_epi32(bits), bases));
    places += _mm_popcnt_u32(byte);
    bases = _mm256_add_epi32(bases, _mm256_set1_epi32(8));
  }
  return places;
}

WEIR_AVX2 std::uint32_t* EitherAvx2(const char* text, std::int64_t bytes, char a, char b,
                                    std::uint32_t base, std::uint32_t* places) {
  const __m256i all_a = _mm256_set1_epi8(a);
  const __m256i all_b = _mm256_set1_epi8(b);
  for (std::int64_t at = 0; at < bytes; at += kWordBytes) {
    __builtin_prefetch(text + at + kAheadBytes);
    const Vectors word = Load(text + at);
    const std::uint64_t mask =
        MaskOf(IsEither(word.low, all_a, all_b), IsEither(word.high, all_a, all_b));
    places = AppendAvx2(KeepFirst(mask, bytes - at), base + static_cast<std::uint32_t>(at), places);
  }
  return places;
}

// About as many ends of rows as there are in 64 bytes.
constexpr int kRows = 3;

WEIR_AVX2 std::uint32_t* SparseAvx2(const char* text, std::int64_t bytes, char mark,
                                    std::uint32_t* places) {
  const __m256i all = _mm256_set1_epi8(mark);
  for (std::int64_t at = 0; at < bytes; at += kWordBytes) {
    __builtin_prefetch(text + at + kAheadBytes);
    const Vectors word = Load(text + at);
    std::uint64_t mask = KeepFirst(
        MaskOf(_mm256_cmpeq_epi8(word.low, all), _mm256_cmpeq_epi8(word.high, all)), bytes - at);
    std::uint32_t* const end = places + _mm_popcnt_u64(mask);
    while (mask != 0) {
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        places[i] = static_cast<std::uint32_t>(at) + static_cast<std::uint32_t>(_tzcnt_u64(mask));
        mask = _blsr_u64(mask);
      }
      places += kRows;
    }
    places = end;
  }
  return places;
}

// Writes which of the marks end rows, counted from one with `before` earlier ones. What pext would
// give at once, and some processors with AVX2 (AMD's before Zen 3) have in microcode only.
WEIR_AVX2 inline std::uint32_t* AppendRowsAvx2(std::uint64_t marks, std::uint64_t row_ends,
                                               std::uint32_t before, std::uint32_t* rows) {
  std::uint32_t* const end = rows + _mm_popcnt_u64(row_ends);
  while (row_ends != 0) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      rows[i] = before + static_cast<std::uint32_t>(_mm_popcnt_u64(marks & _blsmsk_u64(row_ends)));
      row_ends = _blsr_u64(row_ends);
    }
    rows += kRows;
  }
  return end;
}

WEIR_AVX2 std::uint32_t* FieldsBeforeAvx2(const char* text, std::int64_t bytes, char field_end,
                                          char row_end, char stop, std::uint32_t* places,
                                          std::uint32_t* rows) {
  const __m256i all_field_end = _mm256_set1_epi8(field_end);
  const __m256i all_row_end = _mm256_set1_epi8(row_end);
  const __m256i all_stop = _mm256_set1_epi8(stop);
  const std::uint32_t* const first = places;
  for (std::int64_t at = 0; at < bytes; at += kWordBytes) {
    __builtin_prefetch(text + at + kAheadBytes);
    const Vectors word = Load(text + at);
    const __m256i stops = _mm256_or_si256(_mm256_cmpeq_epi8(word.low, all_stop),
                                          _mm256_cmpeq_epi8(word.high, all_stop));
    if (_mm256_movemask_epi8(stops) != 0) break;
    const __m256i low_rows = _mm256_cmpeq_epi8(word.low, all_row_end);
    const __m256i high_rows = _mm256_cmpeq_epi8(word.high, all_row_end);
    const std::uint64_t row_ends = MaskOf(low_rows, high_rows);
    const std::uint64_t marks =
        KeepFirst(MaskOf(_mm256_or_si256(low_rows, _mm256_cmpeq_epi8(word.low, all_field_end)),
                         _mm256_or_si256(high_rows, _mm256_cmpeq_epi8(word.high, all_field_end))),
                  bytes - at);
    rows =
        AppendRowsAvx2(marks, row_ends & marks, static_cast<std::uint32_t>(places - first), rows);
    places = AppendAvx2(marks, static_cast<std::uint32_t>(at), places);
  }
  return rows;
}

WEIR_AVX2 std::uint32_t* WordEdgesAvx2(const char* text, std::int64_t bytes, std::uint32_t base,
                                       bool& in_word, std::uint32_t* places) {
  std::uint64_t before = in_word ? 1 : 0;
  for (std::int64_t at = 0; at < bytes; at += kWordBytes) {
    __builtin_prefetch(text + at + kAheadBytes);
    const Vectors word = Load(text + at);
    const std::uint64_t letters =
        KeepFirst(~MaskOf(IsSpace(word.low), IsSpace(word.high)), bytes - at);
    places = AppendAvx2(letters ^ (letters << 1 | before), base + static_cast<std::uint32_t>(at),
                        places);
    before = letters >> 63;
  }
  in_word = before != 0;
  return places;
}

// With a mask of all, because what the compiler's header leaves undefined it warns of itself.
WEIR_AVX512 inline void StoreWide(__m128i numbers, __m512i bases, std::uint32_t* places) {
  const __m512i wide = _mm512_maskz_cvtepu8_epi32(0xffff, numbers);
  _mm512_storeu_si512(places, _mm512_add_epi32(wide, bases));
}

// Packs the numbers of the bytes that are marked, and widens them, with no loop over marks.
WEIR_AVX512 inline std::uint32_t* AppendAvx512(std::uint64_t mask, std::uint32_t base,
                                               std::uint32_t* places) {
  alignas(64) static constexpr auto kNumbers = [] {
    std::array<char, kWordBytes> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<char>(i);
    return numbers;
  }();
  const __m512i packed = _mm512_maskz_compress_epi8(mask, _mm512_load_si512(kNumbers.data()));
  const __m512i bases = _mm512_set1_epi32(static_cast<int>(base));
  const auto count = _mm_popcnt_u64(mask);
  StoreWide(_mm512_maskz_extracti32x4_epi32(0xf, packed, 0), bases, places);
  if (count > 16) {
    StoreWide(_mm512_maskz_extracti32x4_epi32(0xf, packed, 1), bases, places + 16);
    StoreWide(_mm512_maskz_extracti32x4_epi32(0xf, packed, 2), bases, places + 32);
    StoreWide(_mm512_maskz_extracti32x4_epi32(0xf, packed, 3), bases, places + 48);
  }
  return places + count;
}

WEIR_AVX512 std::uint32_t* EitherAvx512(const char* text, std::int64_t bytes, char a, char b,
                                        std::uint32_t base, std::uint32_t* places) {
  const __m512i all_a = _mm512_set1_epi8(a);
  const __m512i all_b = _mm512_set1_epi8(b);
  for (std::int64_t at = 0; at < bytes; at += kWordBytes) {
    __builtin_prefetch(text + at + kAheadBytes);
    const __m512i word = _mm512_loadu_si512(text + at);
    const std::uint64_t mask =
        _mm512_cmpeq_epi8_mask(word, all_a) | _mm512_cmpeq_epi8_mask(word, all_b);
    places =
        AppendAvx512(KeepFirst(mask, bytes - at), base + static_cast<std::uint32_t>(at), places);
  }
  return places;
}

WEIR_AVX512 std::uint32_t* SparseAvx512(const char* text, std::int64_t bytes, char mark,
                                        std::uint32_t* places) {
  return EitherAvx512(text, bytes, mark, mark, 0, places);
}

WEIR_AVX512 std::uint32_t* FieldsBeforeAvx512(const char* text, std::int64_t bytes, char field_end,
                                              char row_end, char stop, std::uint32_t* places,
                                              std::uint32_t* rows) {
  const __m512i all_field_end = _mm512_set1_epi8(field_end);
  const __m512i all_row_end = _mm512_set1_epi8(row_end);
  const __m512i all_stop = _mm512_set1_epi8(stop);
  const std::uint32_t* const first = places;
  for (std::int64_t at = 0; at < bytes; at += kWordBytes) {
    __builtin_prefetch(text + at + kAheadBytes);
    const __m512i word = _mm512_loadu_si512(text + at);
    if (_mm512_cmpeq_epi8_mask(word, all_stop) != 0) break;
    const std::uint64_t row_ends = _mm512_cmpeq_epi8_mask(word, all_row_end);
    const std::uint64_t marks =
        KeepFirst(_mm512_cmpeq_epi8_mask(word, all_field_end) | row_ends, bytes - at);
    // All processors with these instructions have pext in hardware.
    rows = AppendAvx512(_pext_u64(row_ends, marks), static_cast<std::uint32_t>(places - first) + 1,
                        rows);
    places = AppendAvx512(marks, static_cast<std::uint32_t>(at), places);
  }
  return rows;
}

WEIR_AVX512 std::uint32_t* WordEdgesAvx512(const char* text, std::int64_t bytes, std::uint32_t base,
                                           bool& in_word, std::uint32_t* places) {
  const __m512i tabs = _mm512_set1_epi8('\t');
  std::uint64_t before = in_word ? 1 : 0;
  for (std::int64_t at = 0; at < bytes; at += kWordBytes) {
    __builtin_prefetch(text + at + kAheadBytes);
    const __m512i word = _mm512_loadu_si512(text + at);
    const std::uint64_t spaces =
        _mm512_cmple_epu8_mask(_mm512_sub_epi8(word, tabs), _mm512_set1_epi8('\r' - '\t')) |
        _mm512_cmpeq_epi8_mask(word, _mm512_set1_epi8(' '));
    const std::uint64_t letters = KeepFirst(~spaces, bytes - at);
    places = AppendAvx512(letters ^ (letters << 1 | before), base + static_cast<std::uint32_t>(at),
                          places);
    before = letters >> 63;
  }
  in_word = before != 0;
  return places;
}

#endif

Functions FunctionsOf(ScanInstructions instructions) {
  switch (instructions) {
#ifdef WEIR_SCAN_X86
    case ScanInstructions::kAvx512:
      return {EitherAvx512, SparseAvx512, FieldsBeforeAvx512, WordEdgesAvx512};
    case ScanInstructions::kAvx2:
      return {EitherAvx2, SparseAvx2, FieldsBeforeAvx2, WordEdgesAvx2};
#endif
    default:
      return {EitherAny, SparseAny, FieldsBeforeAny, WordEdgesAny};
  }
}

Functions& InUse() {
  static Functions functions = FunctionsOf(BestScanInstructions());
  return functions;
}

}  // namespace

std::uint32_t* FindEither(const char* text, std::int64_t bytes, char a, char b, std::uint32_t base,
                          std::uint32_t* places) {
  return InUse().either(text, bytes, a, b, base, places);
}

std::uint32_t* FindSparse(const char* text, std::int64_t bytes, char mark, std::uint32_t* places) {
  return InUse().sparse(text, bytes, mark, places);
}

std::uint32_t* FindFieldsBefore(const char* text, std::int64_t bytes, char field_end, char row_end,
                                char stop, std::uint32_t* places, std::uint32_t* rows) {
  return InUse().fields_before(text, bytes, field_end, row_end, stop, places, rows);
}

std::uint32_t* FindWordEdges(const char* text, std::int64_t bytes, std::uint32_t base,
                             bool& in_word, std::uint32_t* places) {
  return InUse().word_edges(text, bytes, base, in_word, places);
}

ScanInstructions BestScanInstructions() {
#ifdef WEIR_SCAN_X86
  const bool v3 = CPU_FEATURE_ACTIVE(AVX2) && CPU_FEATURE_ACTIVE(BMI1) &&
                  CPU_FEATURE_ACTIVE(BMI2) && CPU_FEATURE_ACTIVE(LZCNT) &&
                  CPU_FEATURE_ACTIVE(POPCNT);
  const bool packs_bytes = CPU_FEATURE_ACTIVE(AVX512F) && CPU_FEATURE_ACTIVE(AVX512BW) &&
                           CPU_FEATURE_ACTIVE(AVX512VL) && CPU_FEATURE_ACTIVE(AVX512_VBMI2);
  if (v3 && packs_bytes) return ScanInstructions::kAvx512;
  if (v3) return ScanInstructions::kAvx2;
#endif
  return ScanInstructions::kAny;
}

void UseScanInstructions(ScanInstructions instructions) { InUse() = FunctionsOf(instructions); }

}  // namespace weir
