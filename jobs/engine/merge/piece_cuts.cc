#include "jobs/engine/merge/piece_cuts.h"

#include <algorithm>

namespace weir {
namespace {

constexpr std::size_t kPiecesOfRest = 16;

}  // namespace

std::vector<std::string> ChooseCuts(std::vector<KeyMark> marks, std::size_t piece_bytes_min) {
  std::sort(marks.begin(), marks.end(),
            [](const KeyMark& a, const KeyMark& b) { return a.key < b.key; });
  std::size_t left = 0;
  for (const KeyMark& mark : marks) left += mark.bytes;
  std::vector<std::string> cuts;
  std::size_t taken = 0;
  for (const KeyMark& mark : marks) {
    taken += mark.bytes;
    if (taken < std::max(piece_bytes_min, left / kPiecesOfRest)) continue;
    if (left - taken < piece_bytes_min) break;
    // All of a key is one piece's.
    if (!cuts.empty() && cuts.back() == mark.key) continue;
    cuts.emplace_back(mark.key);
    left -= taken;
    taken = 0;
  }
  return cuts;
}

}  // namespace weir
