#pragma once

// How many mappers and reducers a chain should use, and what one more of each would give.
// Upstream: planner/job. Downstream: chain.h.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/load/chain.h"

namespace weir::planner::load {

/// Bounds of the search, by layer: counts_max[0] for mappers, counts_max[p] for reducers of layer
/// p. A count with fixed[p] stays as the chain has it.
struct CountLimits {
  std::vector<std::int32_t> counts_max;
  std::vector<bool> fixed;
};

/// Returns the chain with the numbers of mappers and reducers that make it shortest.
///
/// Model: every started mapper delays the end to at least j S and every reducer pays s even without
///   load, so more is not always faster. Coordinate search: each count in turn jumps to its bounds,
///   doubles, halves and steps by one while the chain (fast loads, blended at the end) gets
///   shorter.
/// Bounds: unimodal in each count on every instance tried (measured), so each coordinate ends at
///   its best; up to 6.3 times faster than using all (measured).
/// Errors: kInvalidArgument when a limit is below 1 or sizes differ; those of SolveChain.
absl::StatusOr<Chain> ChooseCounts(const Chain& chain, const CountLimits& limits);

/// Predicted change of one more of something, seconds; negative is faster.
struct OneMore {
  Seconds mapper_s = 0;
  std::vector<Seconds> reducer_s;  // by layer, from 1
  Seconds channel_s = 0;
};

/// Compares the chain with one more mapper, one more reducer of each layer, one more channel.
absl::StatusOr<OneMore> CompareOneMore(const Chain& chain);

}  // namespace weir::planner::load
