#pragma once

// How long a sender computes on x bytes: the convex function F of every layer model here.
// Upstream: sampled rates, instance files. Downstream: layer.h (scaling), cut_bound.h,
// exact_layer.h.

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/load/growth_curve.h"
#include "planner/plan/units.h"

namespace weir::planner::load {

/// Convex, increasing time of a compute step over its load.
///
/// Model: F(x) = max_y (intercept_y + slope_y * x) + nlogn * x * max(1, log2(unit * x)).
/// Symbols: x load in units of `unit_bytes` (1 for bytes; V once scaled, so that x is a fraction);
///   F in seconds (or in units of T0 once scaled). Lines are sorted by slope, each the largest
///   somewhere on x > 0 (T', (9)), or one line.
/// Source: 004 section 3 (T_p), section 4.1 (T'_p, a_y, b_y); errata: a_0 is a_red on [0, 2), not
///   1.
class ComputeFunction {
 public:
  struct Line {
    double slope = 0;
    double intercept = 0;
  };
  /// Measured time of a step that read `load_bytes`.
  struct Sample {
    double load_bytes = 0;
    Seconds time_s = 0;
  };

  /// Returns startup_s + seconds_per_byte * x. Values are checked by CheckLayer.
  static ComputeFunction Linear(double seconds_per_byte, Seconds startup_s);

  /// Returns startup_s + T'(x): the chords of a * x * log2 x between powers of two up to
  /// `load_bytes_max`.
  ///
  /// Model: T'(x) = a * max(x, max_y ((y + 2) x - 2^(y+1))), y = 1 .. floor(log2 load_bytes_max).
  static ComputeFunction Chords(double seconds_per_byte, Seconds startup_s, double load_bytes_max);

  /// Returns startup_s + T(x), T(x) = a * max(x, x log2 x): the curve itself, not its chords.
  static ComputeFunction NLogN(double seconds_per_byte, Seconds startup_s);

  /// Returns startup_s + seconds_per_byte * x + curve(x).
  ///
  /// Model: x log2 x as it is; other exponents by the chords between loads that grow by a
  /// sixteenth,
  ///   from a millionth of `load_bytes_max` to that: above the curve there, by at most 0.1 %.
  /// Requires: CheckGrowthCurve is OK and curve.known().
  static ComputeFunction Growing(double seconds_per_byte, Seconds startup_s,
                                 const GrowthCurve& curve, double load_bytes_max);

  /// Returns the piecewise linear curve through measured points, its last piece prolonged.
  ///
  /// Errors: kInvalidArgument naming the sample when there are fewer than two, a value is not
  ///   finite or negative, loads do not increase strictly, times decrease, or the curve is not
  ///   convex (slope falls by more than 1e-9 relative): the bound needs convexity, so a concave
  ///   kink is refused, not smoothed.
  static absl::StatusOr<ComputeFunction> Measured(absl::Span<const Sample> samples);

  /// Returns F(x).
  double Value(double load) const;

  /// Returns dF/dx at x (the right derivative at a kink).
  double Slope(double load) const;

  /// Returns the u with weight * u + F(u) = rhs; negative when rhs < F(0).
  ///
  /// Requires: weight >= 0 and a positive slope. `line_hint` is where the search starts and where
  ///   it ended: callers that walk over neighbouring loads pass the same variable again, which
  ///   makes the search O(1) amortised.
  double SolveLoad(double weight, double rhs, std::size_t& line_hint) const;

  /// Returns dF/du at the u that SolveLoad returned with this hint.
  double SlopeAt(double load, std::size_t line_hint) const;

  /// Returns F with x counted in units of `unit_bytes` and time in units of `unit_s`.
  ComputeFunction Scaled(double unit_bytes, double unit_s) const;

  /// Returns F plus seconds_per_byte * x (a local write after the step: 004 section 4.1, third
  /// store variant).
  ComputeFunction WithExtraSlope(double seconds_per_byte) const;

  /// Lines of the piecewise linear part, by rising slope.
  const std::vector<Line>& lines() const { return lines_; }
  /// True when F has the x log2 x term, so that lines alone do not describe it.
  bool smooth() const { return nlogn_ > 0; }
  /// Returns the tangent of F at x: F(z) >= slope * z + intercept for all z >= 0.
  Line Tangent(double load) const;

  /// Errors: kInvalidArgument naming what is not finite, negative, or without a positive slope.
  absl::Status Check() const;

 private:
  double CurveValue(double load) const;
  double CurveSlope(double load) const;
  double SolveLines(double weight, double rhs, std::size_t& line_hint) const;

  void FindBreaks();

  std::vector<Line> lines_;
  /// breaks_[y]: load at which line y + 1 overtakes line y.
  std::vector<double> breaks_;
  double nlogn_ = 0;
  double unit_bytes_ = 1;
};

}  // namespace weir::planner::load
