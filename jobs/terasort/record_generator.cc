#include "jobs/terasort/record_generator.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "jobs/terasort/sort_records.h"

namespace weir::terasort {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kNumberAt = kKeyBytes + 2;
constexpr std::size_t kNumberDigits = 32;
constexpr std::size_t kFillerAt = kNumberAt + kNumberDigits + 4;
constexpr std::size_t kFillerLetters = 12;
constexpr std::size_t kFillerRepeats = 4;
constexpr int kSkewedKeyBits = 24;

constexpr char kHexDigits[] = "0123456789ABCDEF";

// The output function of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014): every bit of the input changes about half of the output.
std::uint64_t Scramble(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

// The step-th of the random numbers that belong to `seed` and `number`.
std::uint64_t Random(std::uint64_t seed, std::uint64_t number, std::uint64_t step) {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  return Scramble(Scramble(Scramble(seed + kGoldenRatio) + number) + (step + 1) * kGoldenRatio);
}

struct KeyBits {
  std::uint64_t first = 0;   // eight bytes
  std::uint64_t second = 0;  // the last two, in the lower half
};

KeyBits UniformKey(std::uint64_t seed, std::uint64_t number) {
  return {Random(seed, number, 0), Random(seed, number, 1)};
}

KeyBits SkewedKey(const GenerateOptions& options, std::uint64_t number) {
  const double uniform = static_cast<double>(Random(options.seed, number, 0) >> 11) * 0x1p-53;
  // The distribution function of the density x^-s on [0, 1) is x^(1-s).
  const double place = std::pow(uniform, 1 / (1 - options.skew));
  const auto rank = std::min<std::uint64_t>(
      static_cast<std::uint64_t>(std::ldexp(place, kSkewedKeyBits)), (1u << kSkewedKeyBits) - 1);
  // What is below the rank belongs to the key, not to the record: equal ranks are equal keys.
  return {rank << (64 - kSkewedKeyBits) | Random(options.seed, rank, 2) >> kSkewedKeyBits,
          Random(options.seed, rank, 3)};
}

void PutBigEndian(std::uint64_t bits, std::size_t bytes, char* out) {
  for (std::size_t i = bytes; i-- > 0; bits >>= 8) out[i] = static_cast<char>(bits);
}

}  // namespace

void TeraRecords::Append(std::int64_t number, std::string& out) {
  const auto n = static_cast<std::uint64_t>(number);
  const KeyBits key = options_.skew > 0 ? SkewedKey(options_, n) : UniformKey(options_.seed, n);
  char record[kRecordBytes];
  PutBigEndian(key.first, 8, record);
  PutBigEndian(key.second, kKeyBytes - 8, record + 8);
  const auto put = [&record](std::size_t at, std::string_view bytes) {
    std::memcpy(record + at, bytes.data(), bytes.size());
  };
  put(kKeyBytes, "\x00\x11"sv);
  std::uint64_t digits = n;
  for (std::size_t i = kNumberDigits; i-- > 0; digits >>= 4) {
    record[kNumberAt + i] = kHexDigits[digits & 0xf];
  }
  put(kFillerAt - 4, "\x88\x99\xaa\xbb"sv);
  std::uint64_t filler = Random(options_.seed, n, 4);
  for (std::size_t i = 0; i < kFillerLetters; ++i, filler >>= 4) {
    std::memset(record + kFillerAt + i * kFillerRepeats, kHexDigits[filler & 0xf], kFillerRepeats);
  }
  put(kRecordBytes - 4, "\xcc\xdd\xee\xff"sv);
  out.append(record, sizeof record);
}

}  // namespace weir::terasort
