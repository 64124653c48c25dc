#include "runtime/worker/measure/compute_kernel.h"

#include <cstddef>
#include <string_view>

#include "runtime/format/xxh3_stream.h"

namespace weir::worker {
namespace {

constexpr std::size_t kTextBytes = 256 << 10;
constexpr std::size_t kCounts = 8192;  // a power of two

}  // namespace

ComputeKernel::ComputeKernel() : counts_(kCounts) {
  std::uint64_t state = 88172645463325252U;  // xorshift64; any start does
  while (text_.size() < kTextBytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    // Few short words often, many long ones rarely.
    const auto word_bytes = static_cast<std::size_t>(2 + state % 9);
    std::uint64_t letters = (state >> 8) % (word_bytes < 5 ? 97 : 4001);
    for (std::size_t i = 0; i < word_bytes; ++i) {
      text_.push_back(static_cast<char>('a' + letters % 26));
      letters = letters / 3 + 7;
    }
    text_.push_back(state % 11 == 0 ? '\n' : ' ');
  }
}

std::int64_t ComputeKernel::Pass() {
  const std::string_view text = text_;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ' ' && text[i] != '\n') continue;
    if (i > begin) {
      ++counts_[format::Xxh3(text.substr(begin, i - begin)) & (kCounts - 1)];
      ++words_;
    }
    begin = i + 1;
  }
  return static_cast<std::int64_t>(text.size());
}

}  // namespace weir::worker
