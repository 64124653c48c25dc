#include "planner/tree/speeds/class_dp.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/model/tree_bounds.h"

namespace weir::planner::tree {

namespace {

/// Table over the counts of all classes, fastest first; the slowest class varies fastest in memory.
class ClassTable {
 public:
  ClassTable(std::vector<Seconds> times, std::vector<std::int64_t> counts)
      : times_(std::move(times)), counts_(std::move(counts)), stride_(counts_.size(), 1) {
    for (std::size_t k = counts_.size() - 1; k > 0; --k)
      stride_[k - 1] = stride_[k] * (counts_[k] + 1);
    table_.assign(static_cast<std::size_t>(stride_[0] * (counts_[0] + 1)), 0);
    const std::size_t faster_classes = counts_.size() - 1;
    std::vector<std::int64_t> faster(faster_classes, 0);
    do {
      FillRow(faster);
    } while (Advance(faster));
  }

  ClassOptimum Result() {
    ClassOptimum result;
    result.lookups = lookups_;
    result.optimum_s = table_.back();
    std::vector<std::pair<Seconds, Seconds>> by_start;  // start, time
    Place(counts_, 0, result.optimum_s, by_start);
    std::stable_sort(by_start.begin(), by_start.end(), [](const auto& a, const auto& b) {
      return a.first < b.first || (a.first == b.first && a.second > b.second);
    });
    for (const auto& message : by_start) result.ordered_times.push_back(message.second);
    return result;
  }

 private:
  struct Split {
    std::int64_t left = 0;  // offset of the faster classes of the left part
    std::int64_t slowest = 0;
    Seconds length_s = std::numeric_limits<double>::infinity();
  };

  bool Advance(std::vector<std::int64_t>& faster) const { return Advance(faster, counts_); }

  // Next vector below `most` in odometer order; false after the last.
  static bool Advance(std::vector<std::int64_t>& digits, const std::vector<std::int64_t>& most) {
    for (std::size_t k = digits.size(); k-- > 0;) {
      if (digits[k] < most[k]) {
        ++digits[k];
        return true;
      }
      digits[k] = 0;
    }
    return false;
  }

  std::int64_t Offset(const std::vector<std::int64_t>& faster) const {
    std::int64_t offset = 0;
    for (std::size_t k = 0; k < faster.size(); ++k) offset += faster[k] * stride_[k];
    return offset;
  }

  void FillRow(const std::vector<std::int64_t>& faster) {
    const std::int64_t slowest = counts_.back();
    Seconds* row = &table_[Offset(faster)];
    const auto fastest =
        std::find_if(faster.begin(), faster.end(), [](std::int64_t n) { return n > 0; });
    if (fastest == faster.end()) {
      for (std::int64_t s = 0; s <= slowest; ++s) {
        row[s] = static_cast<double>(CeilLog2(s + 1)) * times_.back();
      }
      return;
    }
    std::vector<std::int64_t> rest = faster;
    const auto root = static_cast<std::size_t>(fastest - faster.begin());
    --rest[root];
    for (std::int64_t s = 0; s <= slowest; ++s) row[s] = times_[root] + BestSplit(rest, s).length_s;
  }

  // Equation (2): the least maximum over all splits of `rest` and s slowest senders.
  Split BestSplit(const std::vector<std::int64_t>& rest, std::int64_t s) {
    Split best;
    const std::int64_t whole = Offset(rest);
    std::vector<std::int64_t> left(rest.size(), 0);
    do {
      const std::int64_t offset = Offset(left);
      if (2 * offset > whole) break;  // the mirrored split has been seen
      TrySplit(offset, whole - offset, s, best);
    } while (Advance(left, rest));
    return best;
  }

  // Equation (4): the crossing of a rising and a falling row.
  void TrySplit(std::int64_t left, std::int64_t right, std::int64_t s, Split& best) {
    const Seconds* rising = &table_[left];
    const Seconds* falling = &table_[right];
    std::int64_t low = 0;
    std::int64_t high = s;
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      ++lookups_;
      if (rising[middle] >= falling[s - middle]) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    for (std::int64_t x : {low, low - 1}) {
      if (x < 0) continue;
      ++lookups_;
      const Seconds length_s = std::max(rising[x], falling[s - x]);
      if (length_s < best.length_s) best = {left, x, length_s};
    }
  }

  // Walks the optimal splits; a message at reversed time `slot_s` starts at end - (slot + t).
  void Place(const std::vector<std::int64_t>& counts, Seconds slot_s, Seconds end_s,
             std::vector<std::pair<Seconds, Seconds>>& by_start) {
    if (std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) == 0) return;
    std::vector<std::int64_t> faster(counts.begin(), counts.end() - 1);
    const auto fastest =
        std::find_if(faster.begin(), faster.end(), [](std::int64_t n) { return n > 0; });
    std::vector<std::int64_t> left(counts.size(), 0);
    std::vector<std::int64_t> right = counts;
    Seconds time_s = times_.back();
    if (fastest == faster.end()) {
      --right.back();
      left.back() = right.back() / 2;
    } else {
      const auto root = static_cast<std::size_t>(fastest - faster.begin());
      time_s = times_[root];
      --faster[root];
      --right[root];
      const Split split = BestSplit(faster, counts.back());
      std::int64_t offset = split.left;
      for (std::size_t k = 0; k + 1 < counts.size(); ++k) {
        left[k] = offset / stride_[k];
        offset %= stride_[k];
      }
      left.back() = split.slowest;
    }
    for (std::size_t k = 0; k < counts.size(); ++k) right[k] -= left[k];
    by_start.push_back({end_s - (slot_s + time_s), time_s});
    Place(left, slot_s + time_s, end_s, by_start);
    Place(right, slot_s + time_s, end_s, by_start);
  }

  std::vector<Seconds> times_;
  std::vector<std::int64_t> counts_;
  std::vector<std::int64_t> stride_;
  std::vector<Seconds> table_;
  std::int64_t lookups_ = 0;
};

}  // namespace

absl::StatusOr<ClassOptimum> ClassOptimumByDp(const std::vector<Seconds>& times,
                                              const std::vector<std::int64_t>& counts) {
  if (times.size() != counts.size() || times.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("counts has ", counts.size(),
                                                   " entries and times ", times.size(),
                                                   "; they must agree and not be empty"));
  }
  if (absl::Status status = CheckCosts("times", times); !status.ok()) return status;
  double cells = 1;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (absl::Status status =
            CheckCount(absl::StrCat("counts[", k, "]"), counts[k], 0, kClassCellsMax);
        !status.ok()) {
      return status;
    }
    cells *= static_cast<double>(counts[k] + 1);
  }
  std::vector<std::size_t> order(times.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return times[a] < times[b]; });
  std::vector<Seconds> sorted_times;
  std::vector<std::int64_t> sorted_counts;
  for (std::size_t k : order) {
    sorted_times.push_back(times[k]);
    sorted_counts.push_back(counts[k]);
  }
  const double pairs = cells * cells / static_cast<double>(sorted_counts.back() + 1) / 2;
  if (cells > static_cast<double>(kClassCellsMax) || pairs > kClassPairsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("counts give a table of ", cells, " cells and ", pairs,
                     " pairs, the limits are ", kClassCellsMax, " and ", kClassPairsMax,
                     "; use the exact slot search or slowest-node-first with local search"));
  }
  return ClassTable(std::move(sorted_times), std::move(sorted_counts)).Result();
}

}  // namespace weir::planner::tree
