// Any bytes as the blocks of a section: records come out that lie inside a block, or kDataLoss.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "jobs/engine/sections/section_blocks.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

class Blocks : public weir::RunSource {
 public:
  explicit Blocks(std::vector<std::string> blocks) : blocks_(std::move(blocks)) {}
  absl::StatusOr<absl::Span<const char>> NextBlock() override {
    if (next_ == blocks_.size()) return absl::Span<const char>();
    return absl::Span<const char>(blocks_[next_++]);
  }

 private:
  std::vector<std::string> blocks_;
  std::size_t next_ = 0;
};

}  // namespace

// The first byte says how long blocks are.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes == 0) return 0;
  std::vector<std::string> blocks;
  const std::size_t block_bytes = std::size_t{1} + data[0];
  for (std::size_t at = 1; at < bytes; at += block_bytes) {
    blocks.emplace_back(data + at, data + std::min(at + block_bytes, bytes));
  }
  Blocks source(std::move(blocks));
  weir::SectionReader reader(source);
  weir::SectionRecord record;
  std::size_t sum = 0;
  while (true) {
    const auto more = reader.Next(record);
    if (!more.ok()) {
      if (more.status().code() != absl::StatusCode::kDataLoss) __builtin_trap();
      return 0;
    }
    if (!*more) return 0;
    // Every byte must be there to be read.
    for (const char c : record.key) sum += static_cast<unsigned char>(c);
    for (const char c : record.value) sum += static_cast<unsigned char>(c);
    if (sum > bytes * 255) __builtin_trap();
  }
}
