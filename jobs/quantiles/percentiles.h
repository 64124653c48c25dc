#pragma once

// Which percentiles a result shows. Upstream: the parameter `percentiles`. Downstream:
// find_quantiles.h.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace weir::quantiles {

/// One percentile, with six decimals at most, so that ranks are computed without rounding.
struct Percentile {
  std::string text;         // as it was given
  std::int64_t millionths;  // of a percent
};

inline constexpr std::size_t kPercentilesMax = 100;

/// Parses "50,90,99.9": numbers from 0 to 100. Errors: kInvalidArgument.
absl::StatusOr<std::vector<Percentile>> ParsePercentiles(std::string_view text);

/// Returns the rank, from 0, of the percentile of `count` numbers: that part of the way from the
/// first to the last, rounded down (numpy's method "lower"). Requires: count > 0.
std::int64_t RankOf(const Percentile& percentile, std::int64_t count);

}  // namespace weir::quantiles
