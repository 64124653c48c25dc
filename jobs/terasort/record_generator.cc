#include "jobs/terasort/record_generator.h"

#include <cstddef>
#include <cstring>
#include <string_view>

#include "jobs/records/random_numbers.h"
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

struct KeyBits {
  std::uint64_t first = 0;   // eight bytes
  std::uint64_t second = 0;  // the last two, in the lower half
};

KeyBits UniformKey(std::uint64_t seed, std::uint64_t number) {
  return {RandomOf(seed, number, 0), RandomOf(seed, number, 1)};
}

KeyBits SkewedKey(const GenerateOptions& options, std::uint64_t number) {
  const std::uint64_t rank =
      SkewedRank(RandomOf(options.seed, number, 0), options.skew, 1u << kSkewedKeyBits);
  // What is below the rank belongs to the key, not to the record: equal ranks are equal keys.
  return {rank << (64 - kSkewedKeyBits) | RandomOf(options.seed, rank, 2) >> kSkewedKeyBits,
          RandomOf(options.seed, rank, 3)};
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
  std::uint64_t filler = RandomOf(options_.seed, n, 4);
  for (std::size_t i = 0; i < kFillerLetters; ++i, filler >>= 4) {
    std::memset(record + kFillerAt + i * kFillerRepeats, kHexDigits[filler & 0xf], kFillerRepeats);
  }
  put(kRecordBytes - 4, "\xcc\xdd\xee\xff"sv);
  out.append(record, sizeof record);
}

}  // namespace weir::terasort
