#pragma once

// Chance that is the same everywhere, for orders that break ties. Upstream: slack_schedule,
// slack_dispatch. Downstream: nothing.

#include <cstddef>
#include <cstdint>

namespace weir::planner {

/// Returns a number in [0, 1), the same for the same numbers: the finaliser of SplitMix64.
/// Thread-safety: pure.
inline double Unevenness(std::uint64_t seed, std::size_t i) {
  std::uint64_t x = (seed + 1) * 0x9E3779B97F4A7C15u + i;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

}  // namespace weir::planner
