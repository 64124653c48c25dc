// The practical limit of summarizing station rows on this machine: one purpose, one file, two
// threads, input mapped, rows taken for well-formed. Weir's CPU time is held against it.
//   limit_onebrc INPUT OUTPUT [THREADS]

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "tests/bench/limit_input.h"

namespace {

constexpr std::size_t kChunk = 2 << 20;
constexpr std::size_t kRoom = 1 << 17;

struct alignas(64) Station {
  std::uint64_t first;
  std::uint64_t second;
  const char* name;
  std::uint32_t bytes;  // zero: free
  std::int16_t min;
  std::int16_t max;
  std::int64_t sum;
  std::int64_t count;
};

struct Name {
  std::uint64_t first;
  std::uint64_t second;
  const char* text;
  std::uint32_t bytes;
};

// Keeps the first `bytes` of 16.
constexpr auto kKeep = [] {
  std::array<std::array<std::uint64_t, 2>, 17> rows{};
  for (unsigned n = 0; n <= 16; ++n) {
    rows[n][0] = n >= 8 ? ~0ull : (1ull << (8 * n)) - 1;
    rows[n][1] = n <= 8 ? 0 : n == 16 ? ~0ull : (1ull << (8 * (n - 8))) - 1;
  }
  return rows;
}();

Name TakeName(const char*& at) {
  Name name{};
  name.text = at;
  const __m128i semicolons = _mm_set1_epi8(';');
  const __m128i head = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  auto found = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(head, semicolons)));
  std::uint32_t skipped = 0;
  while (found == 0) {
    skipped += 16;
    const __m128i more = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + skipped));
    found = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(more, semicolons)));
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
int TakeTenths(const char*& at) {
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

class Stations {
 public:
  Stations() : rooms_(static_cast<Station*>(std::aligned_alloc(64, kRoom * sizeof(Station)))) {
    std::memset(rooms_, 0, kRoom * sizeof(Station));
  }
  Station& Find(const Name& name) {
    std::uint64_t hash =
        (name.first ^ std::rotl(name.second, 29) ^ name.bytes) * 0x9e3779b97f4a7c15;
    for (std::size_t i = hash >> 47;; i = (i + 1) & (kRoom - 1)) {
      Station& station = rooms_[i];
      if (station.first == name.first && station.second == name.second &&
          station.bytes == name.bytes &&
          (name.bytes <= 16 ||
           std::memcmp(station.name + 16, name.text + 16, name.bytes - 16) == 0)) {
        return station;
      }
      if (station.bytes == 0) {
        station = {name.first, name.second, name.text, name.bytes, 1000, -1000, 0, 0};
        return station;
      }
    }
  }
  void Row(const char*& at) {
    const Name name = TakeName(at);
    const int tenths = TakeTenths(at);
    Station& station = Find(name);
    station.min = std::min(station.min, static_cast<std::int16_t>(tenths));
    station.max = std::max(station.max, static_cast<std::int16_t>(tenths));
    station.sum += tenths;
    ++station.count;
  }
  template <typename Visit>
  void Each(Visit&& visit) {
    for (std::size_t i = 0; i < kRoom; ++i) {
      if (rooms_[i].bytes != 0) visit(rooms_[i]);
    }
  }

 private:
  Station* rooms_;
};

const char* RowAfter(const limit::Input& input, std::size_t at) {
  if (at == 0) return input.data;
  if (at >= input.bytes) return input.data + input.bytes;
  const void* newline = std::memchr(input.data + at - 1, '\n', input.bytes - at + 1);
  return newline == nullptr ? input.data + input.bytes : static_cast<const char*>(newline) + 1;
}

// Three rows at a time from three places: each row waits for the end of the one before it.
void TakeChunk(const limit::Input& input, std::size_t begin, std::size_t end, Stations& stations) {
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

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fputs("usage: limit_onebrc INPUT OUTPUT [THREADS]\n", stderr);
    return 2;
  }
  const limit::Input input = limit::MapInput(argv[1]);
  const int threads = argc > 3 ? std::atoi(argv[3]) : 2;
  std::vector<Stations> of_thread(static_cast<std::size_t>(threads));
  std::atomic<std::size_t> next = 0;
  limit::RunThreads(threads, [&](int thread) {
    for (std::size_t begin; (begin = next.fetch_add(kChunk)) < input.bytes;) {
      TakeChunk(input, begin, std::min(begin + kChunk, input.bytes),
                of_thread[static_cast<std::size_t>(thread)]);
    }
  });
  Stations& all = of_thread[0];
  for (std::size_t i = 1; i < of_thread.size(); ++i) {
    of_thread[i].Each([&](const Station& from) {
      Station& into = all.Find({from.first, from.second, from.name, from.bytes});
      into.min = std::min(into.min, from.min);
      into.max = std::max(into.max, from.max);
      into.sum += from.sum;
      into.count += from.count;
    });
  }
  std::vector<const Station*> sorted;
  all.Each([&](const Station& station) { sorted.push_back(&station); });
  std::sort(sorted.begin(), sorted.end(), [](const Station* a, const Station* b) {
    return std::string_view(a->name, a->bytes) < std::string_view(b->name, b->bytes);
  });
  std::FILE* out = std::fopen(argv[2], "wb");
  if (out == nullptr) {
    std::perror(argv[2]);
    return 1;
  }
  for (const Station* one : sorted) {
    const double mean =
        std::floor(static_cast<double>(one->sum) / static_cast<double>(one->count) + 0.5);
    std::fprintf(out, "%.*s=%.1f/%.1f/%.1f\n", static_cast<int>(one->bytes), one->name,
                 one->min / 10.0, (mean + 0.0) / 10.0, one->max / 10.0);
  }
  std::fclose(out);
  std::_Exit(0);
}
