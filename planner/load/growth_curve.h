#pragma once

// How the time of a step grows that takes longer a byte the more it reads, as measured. Upstream:
// chain.h, planner/job. Downstream: compute_function.h, durations of planned steps.

#include "absl/status/status.h"
#include "planner/plan/units.h"

namespace weir::planner::load {

/// Time beyond what is in proportion to the bytes.
///
/// Model: F(x) = c * x * (x / x0)^(p - 1); for p = 1 the curve of sorting, F(x) = c * x * max(1,
///   log2 x) / max(1, log2 x0). So a step of x0 bytes takes c a byte, and F is convex with F(0) =
///   0.
/// Symbols: c = seconds_per_byte, x0 = at_bytes, p = exponent (dimensionless).
/// Source: 004 section 3 (T_p, x log x); p > 1 for what grows faster.
/// Checked by: tests/unit/planner_load/growth_curve_test.cc.
struct GrowthCurve {
  /// Seconds per byte of a step of at_bytes. 0 = there is no curve.
  double seconds_per_byte = 0;
  /// >= 1 where there is a curve.
  double at_bytes = 0;
  /// In [1, 2]; 1 = x log2 x.
  double exponent = 1;

  static constexpr double kExponentMax = 2;

  bool known() const { return seconds_per_byte > 0; }
  /// F(x) / x. Requires: known().
  double SecondsPerByteOf(double bytes) const;
  /// F(x); 0 without a curve.
  Seconds SecondsOf(double bytes) const;
};

/// Errors: kInvalidArgument naming the field, its value and the legal range.
absl::Status CheckGrowthCurve(const GrowthCurve& curve);

}  // namespace weir::planner::load
