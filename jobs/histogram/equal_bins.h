#pragma once

// Bins of equal width between two numbers. Upstream: parameters, numbers. Downstream: count_bins.h.

#include <cstdint>

#include "absl/status/statusor.h"

namespace weir::histogram {

inline constexpr std::int64_t kBinsMax = 10'000'000;

/// Bins 0 .. count() - 1 between min and max. Bin i holds the numbers from Edge(i) up to, not
/// including, Edge(i + 1); the last holds max as well.
///
/// Model: Edge(i) = min + i ((max - min) / count), Edge(count) = max: those of numpy.linspace, to
///   the bit, so that counts are those of numpy.histogram also for numbers on an edge.
/// Checked by: tests/unit/jobs/histogram_test.cc, tests/integration/histogram_test.py (numpy).
class EqualBins {
 public:
  /// Errors: kInvalidArgument unless min < max, both finite and so far apart that doubles can tell
  /// the edges from each other. Requires: 1 <= count <= kBinsMax.
  static absl::StatusOr<EqualBins> Of(double min, double max, std::int64_t count);

  std::int64_t count() const { return count_; }
  double min() const { return min_; }
  double max() const { return max_; }
  double Edge(std::int64_t index) const {
    return index == count_ ? max_ : static_cast<double>(index) * width_ + min_;
  }
  /// Returns the bin of a number; -1 below min, count() above max. Requires: not NaN.
  std::int64_t BinOf(double number) const {
    if (number < min_) return -1;
    if (number > max_) return count_;
    auto bin = static_cast<std::int64_t>((number - min_) / width_);
    if (bin >= count_) bin = count_ - 1;
    // Rounding may have led one too far, or not far enough: the edges decide.
    while (bin > 0 && number < Edge(bin)) --bin;
    while (bin + 1 < count_ && number >= Edge(bin + 1)) ++bin;
    return bin;
  }

 private:
  EqualBins(double min, double max, std::int64_t count)
      : min_(min), max_(max), width_((max - min) / static_cast<double>(count)), count_(count) {}

  double min_;
  double max_;
  double width_;
  std::int64_t count_;
};

}  // namespace weir::histogram
