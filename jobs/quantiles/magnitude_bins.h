#pragma once

// Which bin of a quantile sketch a positive number belongs to. Upstream: values. Downstream:
// dd_sketch.h.

#include <cstdint>

namespace weir::quantiles {

/// Largest relative error of the number that stands for a bin.
inline constexpr double kRelativeAccuracy = 0.01;

/// Returns the bin of a positive number; larger numbers never have smaller bins.
///
/// Model: the bin of 2^e (1 + s), 0 <= s < 1, is 35 e + floor(50 s - 21 s^2 + 6 s^3). The
///   polynomial stands for 35 log2(1 + s): it grows from 0 to 35 in each octave, and by at least 50
///   times the natural logarithm of a quotient of two numbers, so that the ends of a bin have a
///   quotient of at most e^(1/50) = 1.020201, less than (1 + kRelativeAccuracy) /
///   (1 - kRelativeAccuracy) = 1.020202. Sums and products only: the same bits on every machine of
///   a cluster, which functions of a mathematics library do not promise, for 1 % more bins.
/// Requires: a finite number of at least 2^-1022. The result is in [-35770, 35839].
/// Source: Masson, Rim, Lee, "DDSketch: a fast and fully-mergeable quantile sketch with
///   relative-error guarantees", PVLDB 12(12), 2019. The polynomial is that of its authors' library
///   (CubicallyInterpolatedMapping), scaled to whole coefficients.
/// Checked by: tests/unit/jobs/quantiles_test.cc.
std::int32_t BinOf(double magnitude);

/// Returns a number that is within kRelativeAccuracy of every number of the bin.
double ValueOfBin(std::int32_t bin);

}  // namespace weir::quantiles
