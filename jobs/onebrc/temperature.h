#pragma once

// Temperatures as whole tenths of a degree. Upstream: rows. Downstream:
// summarize_stations.h.

#include <cstdint>

namespace weir::onebrc {

/// Returns the mean in tenths, rounded half up, towards positive infinity. Requires: count > 0.
inline std::int64_t MeanTenths(std::int64_t sum_tenths, std::int64_t count) {
  const std::int64_t doubled = 2 * sum_tenths + count;
  const std::int64_t quotient = doubled / (2 * count);
  return doubled % (2 * count) < 0 ? quotient - 1 : quotient;
}

}  // namespace weir::onebrc
