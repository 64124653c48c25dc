#pragma once

// Quantiles of many numbers in bounded memory. Upstream: numbers. Downstream: find_quantiles.h.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "jobs/api/value_codec.h"

namespace weir::quantiles {

/// A DDSketch: counts of numbers in bins whose width grows with the numbers.
///
/// Model: a bin for zero, and for each sign the bins of magnitude_bins.h. A quantile is the number
///   that stands for the bin of the element with that rank, so it is within kRelativeAccuracy of
///   it. Least and greatest number are kept as they are, and the others brought between them.
/// Collapse: of each sign at most kBinsMax bins are kept, those of the greatest magnitudes; what
///   lies nearer to zero is counted in the last bin that is kept. Only quantiles that fall there
///   may miss the accuracy. kBinsMax bins next to each other span a factor of 10^17.
/// The sketch is a function of the multiset of numbers, and its bytes do not depend on the order
/// and
///   the grouping of Add and Merge: what a part has collapsed the whole collapses too, because it
///   has at least the kBinsMax bins farther from zero that the part has kept.
/// Requires: finite numbers; what is smaller than 2^-1022 must be given as zero.
/// Source: as in magnitude_bins.h; collapse: the paper's section 2.2, by bins that are not empty.
/// Bounds: a bin inside the object, then 16 bytes a bin, at most 2 kBinsMax + 1 of them; counts up
///   to 2^63 - 1.
/// Checked by: tests/unit/jobs/quantiles_test.cc, tests/integration/sketches_test.py (numpy and
/// ddsketch).
class DdSketch {
 public:
  static constexpr std::size_t kBinsMax = 2048;

  DdSketch() = default;
  explicit DdSketch(double number);

  void Add(double number);
  void Merge(const DdSketch& other);

  std::int64_t count() const;
  /// Bytes outside of the object.
  std::int64_t heap_bytes() const {
    const bool inside = bins_.capacity() <= 1;
    return inside ? 0 : static_cast<std::int64_t>(bins_.capacity() * sizeof(Bin));
  }
  /// Returns the number with `rank` numbers before it, from 0, in rising order.
  /// Requires: 0 <= rank < count().
  double AtRank(std::int64_t rank) const;

  /// Appends its bytes; Take removes them from the front of `in` and returns false when they are
  /// not those of a sketch.
  void AppendTo(std::string& out) const;
  static bool Take(std::string_view& in, DdSketch& sketch);

 private:
  // Places rise with the numbers: 0 is zero, -place has the same magnitudes as place.
  struct Bin {
    std::int32_t place = 0;
    std::int32_t unused = 0;  // no padding: it is written as memory
    std::int64_t count = 0;
  };
  using Bins = absl::InlinedVector<Bin, 1>;

  static std::int32_t PlaceOf(double number);
  static double NumberAt(std::int32_t place);
  void AddBin(const Bin& bin);
  void Collapse();

  double least_ = 0;
  double greatest_ = 0;
  Bins bins_;  // by place, none empty
};

}  // namespace weir::quantiles

namespace weir {

template <>
struct ValueCodec<quantiles::DdSketch> {
  static void Append(const quantiles::DdSketch& value, std::string& out) { value.AppendTo(out); }
  static bool Take(std::string_view& in, quantiles::DdSketch& value) {
    return quantiles::DdSketch::Take(in, value);
  }
};

}  // namespace weir
