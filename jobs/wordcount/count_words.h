#pragma once

// The job itself: what is a word, how counts add up, how they are written. Upstream: blocks of text
// that end at white space. Downstream: wordcount.cc.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "jobs/api/readers.h"
#include "jobs/api/scan/byte_scan.h"
#include "jobs/api/scan/mark_scan.h"
#include "jobs/api/text_block.h"

namespace weir::wordcount {

/// Counts the maximal runs of bytes that are not ASCII white space.
class CountWords {
 public:
  using Reader = Block<AsciiSpace>;
  using Key = std::string;
  using Value = std::int64_t;
  static constexpr bool kCommutative = true;

  template <typename Emit>
  void Map(const TextBlock& block, Emit& emit) {
    // Begins and ends of words alternate; an odd one out waits for the next strip.
    std::array<std::uint32_t, kStripBytes + kPositionSlack + 1> edges;
    std::size_t waiting = 0;
    bool in_word = false;
    for (std::int64_t strip = 0; strip < block.bytes; strip += kStripBytes) {
      const std::int64_t strip_end = std::min(strip + kStripBytes, block.bytes);
      const std::uint32_t* const end =
          FindWordEdges(block.data + strip, strip_end - strip, static_cast<std::uint32_t>(strip),
                        in_word, edges.data() + waiting);
      const auto num_edges = static_cast<std::size_t>(end - edges.data());
      for (std::size_t i = 0; i + 1 < num_edges; i += 2) {
        emit(std::string_view(block.data + edges[i], edges[i + 1] - edges[i]), 1);
      }
      waiting = num_edges % 2;
      if (waiting == 1) edges[0] = edges[num_edges - 1];
    }
  }

  void Combine(Value& into, const Value& from) const { into += from; }

  void Format(std::string_view word, const Value& count, std::string& out) const {
    out.append(word);
    out.push_back('\t');
    const absl::AlphaNum digits(count);
    out.append(digits.data(), digits.size());
    out.push_back('\n');
  }

 private:
  // The edges of one strip stay in the level-1 cache beside the text.
  static constexpr std::int64_t kStripBytes = 2048;
};

}  // namespace weir::wordcount
