#pragma once

// Cuts the merge of sorted lists at a rank without merging. Upstream: layers of the engine.
// Downstream: pieces that slots merge by themselves.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace weir {

/// Returns, by list, how many of its elements are among the first `rank` of the stable merge of all
/// lists; of equal elements those of earlier lists come first.
///
/// Model: multi-sequence selection. The middle of the widest range that is left is a pivot; its
/// rank
///   halves that range. O(l^2 log^2 n) comparisons for l lists.
/// Requires: lists sorted by `before`; rank of 0 .. all their elements.
/// Thread-safety: pure.
/// Source: Varman, Scheufler, Iyer, Ricard, "Merging multiple lists on hierarchical-memory
///   multiprocessors", Journal of Parallel and Distributed Computing 12(2), 1991.
/// Checked by: tests/unit/jobs/merge_cuts_test.cc.
template <typename T, typename Before>
std::vector<std::size_t> CutMerge(absl::Span<const absl::Span<const T>> lists, std::size_t rank,
                                  Before&& before) {
  if (lists.size() == 1) return {rank};
  std::vector<std::size_t> low(lists.size());
  std::vector<std::size_t> high;
  for (const auto& list : lists) high.push_back(list.size());
  std::vector<std::size_t> place(lists.size());
  while (true) {
    std::size_t widest = 0;
    for (std::size_t i = 1; i < lists.size(); ++i) {
      if (high[i] - low[i] > high[widest] - low[widest]) widest = i;
    }
    if (lists.empty() || high[widest] == low[widest]) return low;
    const std::size_t middle = low[widest] + (high[widest] - low[widest]) / 2;
    const T& pivot = lists[widest][middle];
    // Ends of the ranges stand for places beyond them: a pivot cannot lie beyond one of them and
    // before another.
    std::size_t pivot_rank = 0;
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const T* const begin = lists[i].data() + low[i];
      const T* const end = lists[i].data() + high[i];
      if (i == widest) {
        place[i] = middle;
      } else if (i < widest) {
        place[i] =
            low[i] + static_cast<std::size_t>(std::upper_bound(begin, end, pivot, before) - begin);
      } else {
        place[i] =
            low[i] + static_cast<std::size_t>(std::lower_bound(begin, end, pivot, before) - begin);
      }
      pivot_rank += place[i];
    }
    if (pivot_rank < rank) {
      low = place;
      ++low[widest];
    } else {
      high = place;
    }
  }
}

/// How many pieces `bytes` in `count` elements make.
inline std::size_t NumPieces(std::size_t count, std::size_t bytes, std::size_t piece_bytes) {
  return std::clamp<std::size_t>(bytes / piece_bytes, 1, std::max<std::size_t>(count, 1));
}

/// First of the elements of piece `piece`, or one past the last of the piece before.
inline std::size_t CutOf(std::size_t count, std::size_t piece, std::size_t num_pieces) {
  return count / num_pieces * piece + count % num_pieces * piece / num_pieces;
}

}  // namespace weir
