#include "planner/job/key_weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace weir::planner {
namespace {

constexpr double kTolerance = 1e-9;
// Halvings of the search for the least ratio of share to fraction.
constexpr int kSearchSteps = 50;

/// Running sums of the weights, to find the key below which a share lies.
class Distribution {
 public:
  explicit Distribution(const KeyWeights& weights) : ends_(weights.ends) {
    double sum = 0;
    for (const double share : weights.shares) below_.push_back(sum += share);
    // The rest of a rounding belongs to the last bucket.
    below_.back() = 1;
  }

  struct Point {
    double key = 0;
    double below = 0;
  };

  /// Largest cut with at most `share` below it.
  Point AtMost(double share) const {
    const std::size_t i = BucketOf(share);
    if (i == ends_.size()) return {1, 1};
    const double width = ends_[i] - KeyBefore(i);
    const double inside = below_[i] - BelowBefore(i);
    if (width <= KeyWeights::kAtomWidth || inside <= 0) return {KeyBefore(i), BelowBefore(i)};
    return {KeyBefore(i) + width * (share - BelowBefore(i)) / inside, share};
  }

  /// The cut nearest to `share`.
  Point Nearest(double share) const {
    const Point low = AtMost(share);
    const std::size_t i = BucketOf(share);
    if (i == ends_.size() || share - low.below <= below_[i] - share) return low;
    return {ends_[i], below_[i]};
  }

 private:
  /// First bucket whose end lies above `share`; their number when there is none.
  std::size_t BucketOf(double share) const {
    return static_cast<std::size_t>(std::upper_bound(below_.begin(), below_.end(), share + 1e-15) -
                                    below_.begin());
  }
  double KeyBefore(std::size_t i) const { return i == 0 ? 0 : ends_[i - 1]; }
  double BelowBefore(std::size_t i) const { return i == 0 ? 0 : below_[i - 1]; }

  const std::vector<double>& ends_;
  std::vector<double> below_;
};

/// Closes the cuts: whatever is left is the last consumer's.
void AddCut(Distribution::Point at, double& taken, KeyCuts& cuts) {
  cuts.ends.push_back(at.key);
  cuts.shares.push_back(std::max(0.0, at.below - taken));
  taken = std::max(taken, at.below);
}

/// Everybody takes as much as `ratio` times its fraction allows.
KeyCuts CutGreedily(const Distribution& distribution, absl::Span<const double> fractions,
                    double ratio) {
  KeyCuts cuts;
  double taken = 0;
  for (std::size_t k = 0; k + 1 < fractions.size(); ++k)
    AddCut(distribution.AtMost(std::min(1.0, taken + ratio * fractions[k])), taken, cuts);
  AddCut({1, 1}, taken, cuts);
  return cuts;
}

/// Everybody takes its part of what is left, as near as keys allow.
KeyCuts CutInProportion(const Distribution& distribution, absl::Span<const double> fractions) {
  KeyCuts cuts;
  double taken = 0;
  double fraction_left = 1;
  for (std::size_t k = 0; k + 1 < fractions.size(); ++k) {
    const double part = fraction_left > 0 ? std::min(1.0, fractions[k] / fraction_left) : 0;
    const Distribution::Point at = distribution.Nearest(taken + (1 - taken) * part);
    const double before = cuts.ends.empty() ? 0 : cuts.ends.back();
    AddCut({std::max(before, at.key), std::max(taken, at.below)}, taken, cuts);
    fraction_left -= fractions[k];
  }
  AddCut({1, 1}, taken, cuts);
  return cuts;
}

double LargestRatio(const KeyCuts& cuts, absl::Span<const double> fractions) {
  double largest = 0;
  for (std::size_t k = 0; k < fractions.size(); ++k) {
    if (cuts.shares[k] > 1e-12)
      largest = std::max(largest, cuts.shares[k] / std::max(1e-12, fractions[k]));
  }
  return largest;
}

KeyCuts CutUniform(absl::Span<const double> fractions) {
  KeyCuts cuts;
  double end = 0;
  for (const double fraction : fractions) {
    cuts.ends.push_back(end = std::min(1.0, end + fraction));
    cuts.shares.push_back(fraction);
  }
  cuts.ends.back() = 1;
  return cuts;
}

}  // namespace

absl::Status CheckKeyWeights(const KeyWeights& weights) {
  if (weights.ends.size() != weights.shares.size()) {
    return absl::InvalidArgumentError(absl::StrCat("key_weights has ", weights.ends.size(),
                                                   " ends and ", weights.shares.size(),
                                                   " shares; must be as many"));
  }
  if (weights.uniform()) return absl::OkStatus();
  double before = 0;
  double sum = 0;
  for (std::size_t i = 0; i < weights.ends.size(); ++i) {
    if (!(weights.ends[i] > before && weights.ends[i] <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat("key_weights.ends must rise from 0 to 1; ",
                                                     weights.ends[i], " follows ", before));
    }
    if (!(weights.shares[i] >= 0 && weights.shares[i] <= 1 + kTolerance)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "key_weights.shares[", i, "] is ", weights.shares[i], "; must be between 0 and 1"));
    }
    before = weights.ends[i];
    sum += weights.shares[i];
  }
  if (before != 1 || std::abs(sum - 1) > kTolerance) {
    return absl::InvalidArgumentError(absl::StrCat("key_weights end at key ", before,
                                                   " and add up to ", sum, "; both must be 1"));
  }
  return absl::OkStatus();
}

KeyCuts CutKeys(const KeyWeights& weights, absl::Span<const double> fractions) {
  if (weights.uniform()) return CutUniform(fractions);
  const Distribution distribution(weights);
  double low = 1;  // not below 1: the shares add up to as much as the fractions
  double high = 2;
  const auto last_fits = [&](double ratio) {
    return CutGreedily(distribution, fractions, ratio).shares.back() <=
           ratio * fractions.back() + kTolerance;
  };
  while (!last_fits(high) && high < 1e12) high *= 2;
  for (int i = 0; i < kSearchSteps && high - low > kTolerance; ++i) {
    const double middle = (low + high) / 2;
    (last_fits(middle) ? high : low) = middle;
  }
  if (last_fits(1)) high = 1;
  KeyCuts in_proportion = CutInProportion(distribution, fractions);
  if (LargestRatio(in_proportion, fractions) <= high * (1 + 1e-6)) return in_proportion;
  return CutGreedily(distribution, fractions, high);
}

std::vector<double> CutKeyRange(const KeyWeights& weights, double begin, double end,
                                absl::Span<const double> fractions) {
  const double below = ShareBelow(weights, begin);
  const double inside = ShareBelow(weights, end) - below;
  std::vector<double> ends;
  if (weights.uniform() || inside <= kTolerance) {
    double taken = 0;
    for (const double fraction : fractions) {
      ends.push_back(begin + (end - begin) * (taken += fraction));
    }
  } else {
    // What lies outside of the range weighs nothing.
    KeyWeights range;
    const auto add = [&](double bucket_end, double share) {
      if (bucket_end <= (range.ends.empty() ? 0 : range.ends.back())) return;
      range.ends.push_back(bucket_end);
      range.shares.push_back(share);
    };
    add(begin, 0);
    double before = below;
    for (const double bucket_end : weights.ends) {
      if (bucket_end <= begin) continue;
      const double cut = std::min(bucket_end, end);
      const double up_to = ShareBelow(weights, cut);
      add(cut, (up_to - before) / inside);
      before = up_to;
      if (bucket_end >= end) break;
    }
    add(1, 0);
    ends = CutKeys(range, fractions).ends;
    for (double& one : ends) one = std::clamp(one, begin, end);
  }
  ends.back() = end;
  return ends;
}

double ShareBelow(const KeyWeights& weights, double key) {
  if (weights.uniform() || key <= 0) return std::clamp(key, 0.0, 1.0);
  double below = 0;
  double begin = 0;
  for (std::size_t i = 0; i < weights.ends.size(); ++i) {
    if (key < weights.ends[i]) {
      return below + weights.shares[i] * (key - begin) / (weights.ends[i] - begin);
    }
    below += weights.shares[i];
    begin = weights.ends[i];
  }
  return 1;
}

}  // namespace weir::planner
