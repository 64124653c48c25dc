#pragma once

// Rates in order, for medians of all but one or two of them. Pure. Upstream: PortRates,
// StragglerWatch. Downstream: nothing.

#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace weir::master {

/// Keeps finite values in order.
///
/// What a caller says to be among them is asserted to be. Thread-safety: none. Time: Assign O(n log
/// n), Replace O(n) moves, MedianWithout O(log n). Checked by:
/// tests/unit/master/ranked_rates_test.cc.
class RankedRates {
 public:
  /// Replaces all of them.
  void Assign(std::vector<double> values);
  /// Puts `value` in the place of `was`, which is one of them; in addition where there is none.
  void Replace(std::optional<double> was, double value);
  /// Returns the lower median of all but `without`, at most two that are among them; nothing of
  /// nothing.
  std::optional<double> MedianWithout(absl::Span<const double> without) const;

 private:
  std::vector<double> values_;  // rising
};

}  // namespace weir::master
