#pragma once

// What limit programs over rows share: a name and a number with one decimal, read without a branch,
// and chunks of rows. They use nothing of Weir.

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/bench/limit_input.h"

namespace limit {

struct Name {
  std::uint64_t first;
  std::uint64_t second;
  const char* text;
  std::uint32_t bytes;
};

// Keeps the first `bytes` of 16.
inline constexpr auto kKeep = [] {
  std::array<std::array<std::uint64_t, 2>, 17> rows{};
  for (unsigned n = 0; n <= 16; ++n) {
    rows[n][0] = n >= 8 ? ~0ull : (1ull << (8 * n)) - 1;
    rows[n][1] = n <= 8 ? 0 : n == 16 ? ~0ull : (1ull << (8 * (n - 8))) - 1;
  }
  return rows;
}();

// Takes what lies before kMark, and kMark.
template <char kMark>
Name TakeName(const char*& at) {
  Name name{};
  name.text = at;
  const __m128i marks = _mm_set1_epi8(kMark);
  const __m128i head = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  auto found = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(head, marks)));
  std::uint32_t skipped = 0;
  while (found == 0) {
    skipped += 16;
    const __m128i more = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + skipped));
    found = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(more, marks)));
  }
  name.bytes = skipped + static_cast<std::uint32_t>(std::countr_zero(found));
  std::memcpy(&name.first, at, 8);
  std::memcpy(&name.second, at + 8, 8);
  const auto& keep = kKeep[std::min(name.bytes, 16u)];
  name.first &= keep[0];
  name.second &= keep[1];
  at += name.bytes + 1;
  return name;
}

// Reads "-?d?d.d\n" without a branch: the place of the point says how many digits there are.
inline int TakeTenths(const char*& at) {
  std::uint64_t word;
  std::memcpy(&word, at, 8);
  const int point = std::countr_zero(~word & 0x10101000);
  const auto sign = static_cast<std::int64_t>(~word << 59) >> 63;
  const std::uint64_t unsigned_word = word & ~(static_cast<std::uint64_t>(sign) & 0xff);
  const std::uint64_t digits = (unsigned_word << (28 - point)) & 0x0f000f0f00;
  const auto tenths = static_cast<std::int64_t>((digits * 0x640a0001 >> 32) & 0x3ff);
  at += (point >> 3) + 3;
  return static_cast<int>((tenths ^ sign) - sign);
}

inline const char* RowAfter(const Input& input, std::size_t at) {
  if (at == 0) return input.data;
  if (at >= input.bytes) return input.data + input.bytes;
  const void* newline = std::memchr(input.data + at - 1, '\n', input.bytes - at + 1);
  return newline == nullptr ? input.data + input.bytes : static_cast<const char*>(newline) + 1;
}

// Three rows at a time from three places: each row waits for the end of the one before it.
template <typename Stations>
void TakeChunk(const Input& input, std::size_t begin, std::size_t end, Stations& stations) {
  const std::size_t third = (end - begin) / 3;
  const char* a = RowAfter(input, begin);
  const char* const a_end = RowAfter(input, begin + third);
  const char* b = a_end;
  const char* const b_end = RowAfter(input, begin + 2 * third);
  const char* c = b_end;
  const char* const c_end = RowAfter(input, end);
  while (a < a_end && b < b_end && c < c_end) {
    stations.Row(a);
    stations.Row(b);
    stations.Row(c);
  }
  while (a < a_end) stations.Row(a);
  while (b < b_end) stations.Row(b);
  while (c < c_end) stations.Row(c);
}

// All rows, by as many threads; what each of them has found.
template <typename Stations>
std::vector<Stations> TakeRows(const Input& input, int threads) {
  constexpr std::size_t kChunk = 2 << 20;
  std::vector<Stations> of_thread(static_cast<std::size_t>(threads));
  std::atomic<std::size_t> next = 0;
  RunThreads(threads, [&](int thread) {
    for (std::size_t begin; (begin = next.fetch_add(kChunk)) < input.bytes;) {
      TakeChunk(input, begin, std::min(begin + kChunk, input.bytes),
                of_thread[static_cast<std::size_t>(thread)]);
    }
  });
  return of_thread;
}

}  // namespace limit
