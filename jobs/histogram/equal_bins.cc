#include "jobs/histogram/equal_bins.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace weir::histogram {

absl::StatusOr<EqualBins> EqualBins::Of(double min, double max, std::int64_t count) {
  if (!(min < max) || !std::isfinite(max - min)) {
    return absl::InvalidArgumentError(absl::StrCat("the bins reach from ", min, " to ", max,
                                                   "; 'max' must be greater than 'min', and their "
                                                   "difference finite"));
  }
  // Two edges next to each other are then at least two numbers apart, whatever rounding does.
  const double finest =
      4 * std::numeric_limits<double>::epsilon() * std::max(std::abs(min), std::abs(max));
  const EqualBins bins(min, max, count);
  if (bins.width_ < std::max(finest, std::numeric_limits<double>::min())) {
    return absl::InvalidArgumentError(absl::StrCat(count, " bins from ", min, " to ", max,
                                                   " are narrower than double can tell apart"));
  }
  return bins;
}

}  // namespace weir::histogram
