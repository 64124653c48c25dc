#pragma once

// Numbers for local searches: the planner is deterministic, so its "random" moves are a fixed
// sequence. Upstream: sequence_search, pair_costs. Downstream: move positions.

#include <cstdint>

namespace weir::planner::tree {

/// SplitMix64 (Steele, Lea, Flood 2014): a fixed sequence on every machine.
class FixedSequence {
 public:
  explicit FixedSequence(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Below(std::uint64_t limit) {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return (z ^ (z >> 31U)) % limit;
  }

 private:
  std::uint64_t state_;
};

}  // namespace weir::planner::tree
