#pragma once

// How to cut an element into segments (002, "Nonuniform Segmentation" and the table of optimal
// sizes). Upstream: selection, instance files. Downstream: segment sizes.

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// Number of segments q and the length they give.
struct SegmentChoice {
  std::int64_t num_segments = 1;
  Seconds length_s = 0;
};

/// Minimises rounds * (alpha + w m / q) over q, rounds = rounds_before + q * rounds_per_segment, w
/// = beta + gamma.
///
/// Symbols: with A = rounds_before, B = rounds_per_segment the real optimum is q* = sqrt(A m w / (B
///   alpha)) and the length [sqrt(A alpha) + sqrt(B m w)]^2; the better of the two integers around
///   q* in 1..q_max is returned.
/// Example: round-optimal: A = ceil(log2 p) - 1, B = 1; pipeline: A = p - 3, B = 2; binary: A = 2
///   (N - 3), B = 4.
/// Source: 002, table "Time Complexity" (s_opt, T_opt).
SegmentChoice BestUniformByFormula(double rounds_before, double rounds_per_segment, double units,
                                   const LinkCosts& costs, std::int64_t q_max);

/// Evaluates `length` at q = 1..q_max on a grid of ratio 1.05, then every q between the neighbours
/// of the best, and returns the least; the smaller q on ties.
SegmentChoice BestUniformBySearch(const std::function<Seconds(std::int64_t)>& length,
                                  std::int64_t q_max);

/// Best cuts of m whole units for the unidirectional greedy.
struct SegmentationResult {
  Seconds best_uniform_s = 0;  // any size 1..m, the last segment shorter
  Seconds best_s = 0;          // any sizes
  /// All within 1e-9 of the best, lexicographically falling.
  std::vector<std::vector<double>> best_sizes;
};

/// Most units of BestNonuniform: it tries all 2^(m-1) compositions.
inline constexpr std::int64_t kCompositionUnitsMax = 20;

/// Tries every composition of m units. Errors: kInvalidArgument naming m (beyond the limit use
/// BestUniformBySearch), p, alpha, beta, gamma. Source: 002, "Nonuniform Segmentation" (512
/// compositions of m = 10).
absl::StatusOr<SegmentationResult> BestNonuniform(std::int64_t p, std::int64_t units,
                                                  const LinkCosts& costs);

}  // namespace weir::planner::tree
