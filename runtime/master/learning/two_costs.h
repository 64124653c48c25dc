#pragma once

// Two numbers from more than two measurements. Pure.
// Upstream: fits of costs and of keys. Downstream: nothing of ours.

#include <optional>

#include "absl/types/span.h"

namespace weir::master {

/// `first` times one number and `second` times the other were measured to be `sum`. Sum > 0.
struct TwoParts {
  double first = 0;
  double second = 0;
  double sum = 0;
};

struct TwoCosts {
  double of_first = 0;
  double of_second = 0;
};

/// Returns the two numbers for which the squares of the relative errors are least, of whatever
/// sign; nothing where the measurements are too near to parallel (kParallel) to tell them apart.
/// Checked by: tests/unit/master/map_cost_test.cc, key_growth_test.cc.
std::optional<TwoCosts> FitTwoCosts(absl::Span<const TwoParts> measured);

/// Of the product of the diagonal, the least determinant that tells two numbers apart.
inline constexpr double kParallel = 1e-3;

}  // namespace weir::master
