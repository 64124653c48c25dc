#include "jobs/packed/zstd_frame.h"

#include <algorithm>
#include <cstddef>

#include "jobs/packed/little_endian_text.h"

namespace weir {
namespace {

constexpr std::uint64_t kMagic = 0xFD2FB528;
// Of skippable frames the last four bits are free.
constexpr std::uint64_t kSkippableMagic = 0x184D2A50;
constexpr std::uint64_t kLargest = std::uint64_t{1} << 62;

std::int64_t Bounded(std::uint64_t number) {
  return static_cast<std::int64_t>(std::min(number, kLargest));
}

}  // namespace

std::optional<ZstdFrame> ParseZstdFrame(std::string_view bytes) {
  if (bytes.size() < 5) return std::nullopt;
  const std::uint64_t magic = LittleEndian(bytes.substr(0, 4));
  ZstdFrame frame;
  if ((magic & ~std::uint64_t{15}) == kSkippableMagic) {
    if (bytes.size() < 8) return std::nullopt;
    frame.skippable = true;
    frame.header_bytes = 8;
    frame.skipped_bytes = Bounded(LittleEndian(bytes.substr(4, 4)));
    return frame;
  }
  if (magic != kMagic) return std::nullopt;
  const auto descriptor = static_cast<unsigned char>(bytes[4]);
  const bool single_segment = (descriptor & 0x20) != 0;
  frame.has_checksum = (descriptor & 4) != 0;
  constexpr std::size_t kDictionaryBytes[] = {0, 1, 2, 4};
  const std::size_t dictionary_bytes = kDictionaryBytes[descriptor & 3];
  const int size_code = descriptor >> 6;
  const std::size_t size_bytes =
      size_code == 0 ? (single_segment ? 1 : 0) : std::size_t{1} << size_code;
  std::size_t at = 5;
  const std::size_t end = at + (single_segment ? 0 : 1) + dictionary_bytes + size_bytes;
  if (bytes.size() < end) return std::nullopt;
  if (!single_segment) {
    const auto window = static_cast<unsigned char>(bytes[at++]);
    const std::uint64_t base = std::uint64_t{1} << (10 + (window >> 3));
    frame.window_bytes = Bounded(base + base / 8 * (window & 7));
  }
  at += dictionary_bytes;
  if (size_bytes > 0) {
    const std::uint64_t size = LittleEndian(bytes.substr(at, size_bytes));
    frame.text_bytes = Bounded(size_bytes == 2 ? size + 256 : size);
  }
  if (single_segment) frame.window_bytes = *frame.text_bytes;
  frame.header_bytes = static_cast<std::int64_t>(end);
  return frame;
}

}  // namespace weir
