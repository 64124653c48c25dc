#pragma once

// Binomial and Fibonacci trees, and the two strategies derived from them (000, section 7).
// Upstream: selection, figures. Downstream: receiver arrays for TimeTree.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {

/// Orders above this have more machines than kTreeMachinesMax (binomial) or than 64 bits
/// (Fibonacci: order 89).
inline constexpr std::int64_t kBinomialOrderMax = 62;
inline constexpr std::int64_t kFibonacciOrderMax = 89;

/// Number of machines of a tree and the length of its schedule.
struct TreeLength {
  std::int64_t num_machines = 1;
  Seconds length_s = 0;
};

/// Returns 2^k machines and k(d + c). Source: 000, Definition 12, Proposition 13.
/// Errors: kInvalidArgument naming order, d or c. Example: k = 3, d = 2, c = 5 -> 8 machines, 21.
absl::StatusOr<TreeLength> BinomialLength(std::int64_t order, ElementCosts costs);

/// Returns F_{k+2} machines and d + (k-1) max(d, c) + c, nothing for k <= 0.
/// Source: 000, Definition 15, Proposition 16. Example: k = 5, d = 1, c = 3 -> 13 machines, 16.
absl::StatusOr<TreeLength> FibonacciLength(std::int64_t order, ElementCosts costs);

/// Returns the receivers of the binomial tree of order k >= 0 (2^k machines).
absl::StatusOr<std::vector<MachineIndex>> BinomialTree(std::int64_t order);

/// Returns the receivers of the Fibonacci tree of order k >= -1. The sink of the order k - 1 tree
/// stays the sink (Definition 15 reads the other way round, which contradicts Proposition 16).
absl::StatusOr<std::vector<MachineIndex>> FibonacciTree(std::int64_t order);

/// Builds the tree that Algorithm 1 gives with min(d, c) replaced by 0, and times it with the real
/// costs. Bounds: at most 1 + min(d, c) / max(d, c) times the optimum (Theorem 18).
absl::StatusOr<TimedTree> BinomialStrategy(std::int64_t n, ElementCosts costs);

/// Builds the tree that Algorithm 1 gives with d = c, and times it with the real costs.
/// Bounds: at most 2 times the optimum (Theorem 19).
absl::StatusOr<TimedTree> FibonacciStrategy(std::int64_t n, ElementCosts costs);

}  // namespace weir::planner::tree
