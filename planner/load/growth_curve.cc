#include "planner/load/growth_curve.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace weir::planner::load {
namespace {

double Log2(double bytes) { return bytes > 2 ? std::log2(bytes) : 1.0; }

}  // namespace

double GrowthCurve::SecondsPerByteOf(double bytes) const {
  if (exponent == 1) return seconds_per_byte * Log2(bytes) / Log2(at_bytes);
  return seconds_per_byte * std::pow(bytes / at_bytes, exponent - 1);
}

Seconds GrowthCurve::SecondsOf(double bytes) const {
  return known() && bytes > 0 ? bytes * SecondsPerByteOf(bytes) : 0;
}

absl::Status CheckGrowthCurve(const GrowthCurve& curve) {
  if (!(curve.seconds_per_byte >= 0 && std::isfinite(curve.seconds_per_byte))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "growth curve seconds_per_byte is ", curve.seconds_per_byte, "; legal: finite and >= 0"));
  }
  if (!curve.known()) return absl::OkStatus();
  if (!(curve.at_bytes >= 1 && std::isfinite(curve.at_bytes))) {
    return absl::InvalidArgumentError(
        absl::StrCat("growth curve at_bytes is ", curve.at_bytes, "; legal: finite and >= 1"));
  }
  if (!(curve.exponent >= 1 && curve.exponent <= GrowthCurve::kExponentMax)) {
    return absl::InvalidArgumentError(absl::StrCat("growth curve exponent is ", curve.exponent,
                                                   "; legal: 1 to ", GrowthCurve::kExponentMax));
  }
  return absl::OkStatus();
}

}  // namespace weir::planner::load
