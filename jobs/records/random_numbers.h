#pragma once

// Random numbers that belong to a record, so that any range of records can be made anywhere.
// Upstream: seed and number of a record. Downstream: record generators of jobs.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "jobs/api/job_data.h"

namespace weir {

/// Returns the step-th of the random numbers that belong to `seed` and `number`.
///
/// Source: the output function of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom
///   number generators", OOPSLA 2014): every bit of the input changes about half of the output.
/// Checked by: tests/unit/jobs/terasort_data_test.cc, tests/unit/jobs/records_test.cc.
inline std::uint64_t RandomOf(std::uint64_t seed, std::uint64_t number, std::uint64_t step) {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  const auto scramble = [](std::uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return bits ^ (bits >> 31);
  };
  return scramble(scramble(scramble(seed + kGoldenRatio) + number) + (step + 1) * kGoldenRatio);
}

/// Above this most records would have one key.
inline constexpr double kSkewMax = 0.95;

/// Errors: kInvalidArgument for a skew that is not from 0 to kSkewMax.
inline absl::Status CheckSkew(const GenerateOptions& options) {
  if (options.skew >= 0 && options.skew <= kSkewMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the skew is ", options.skew, "; it must be from 0 to ", kSkewMax));
}

/// Returns one of the ranks 0 .. ranks - 1, the r-th with a probability like r^-skew (as in Zipf's
/// law), by the 53 upper bits of `random`. Requires: 0 <= skew <= kSkewMax, 1 <= ranks <= 2^53.
inline std::uint64_t SkewedRank(std::uint64_t random, double skew, std::uint64_t ranks) {
  const double uniform = static_cast<double>(random >> 11) * 0x1p-53;
  // The distribution function of the density x^-s on [0, 1) is x^(1-s).
  const double place = skew > 0 ? std::pow(uniform, 1 / (1 - skew)) : uniform;
  return std::min(static_cast<std::uint64_t>(place * static_cast<double>(ranks)), ranks - 1);
}

}  // namespace weir
