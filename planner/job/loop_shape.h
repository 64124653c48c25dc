#pragma once

// What is told of a job that is a loop. Upstream: runtime/master. Downstream: loop_plan.

#include <cstdint>

#include "planner/plan/units.h"

namespace weir::planner {

/// Most iterations of a loop, and most steps and transfers of all of them together.
inline constexpr std::int32_t kIterationsMax = 10'000;
inline constexpr std::int64_t kLoopItemsMax = std::int64_t{1} << 19;

/// Which ways to fold elements and to tell states are tried.
enum class LoopWays {
  kAll,
  kRoot,      // one mapper updates the whole state
  kAllToOne,  // all send to it, one after the other, and it to all; for comparison
};

/// A job that maps what its mappers keep again and again: each iteration folds the mappers' dense
/// elements, makes the next state of the result, and tells it to all. Plain data.
struct LoopShape {
  /// Iterations after the first pass over the input, which is iteration 0. In [0, kIterationsMax].
  std::int32_t iterations = 1;
  /// Places of an element, and stored bytes of one. >= 1.
  std::int64_t element_places = 1;
  Bytes element_place_bytes = 8;
  /// The same of a state.
  std::int64_t state_places = 1;
  Bytes state_place_bytes = 8;
  /// Whether elements can be folded by ranges of places; that of iteration 0 may be another thing.
  bool splits = true;
  bool first_splits = true;
  /// Otherwise operands keep the order of the mappers.
  bool commutative = false;
  /// Each place of a state is made of the same place of the element and of the state before, so
  /// that a range of places can be updated alone. Then both have the same places.
  bool element_wise = false;
  /// On a worker of unit rate: mapping what a byte of input became once more, combining a byte of
  /// an element into another, making a byte of state of a byte of element. Seconds, >= 0.
  double iterate_seconds_per_byte = 1e-9;
  double combine_seconds_per_byte = 4e-9;
  double update_seconds_per_byte = 4e-9;
  /// What a step takes at any size: order, task, files, report. Seconds, >= 0.
  Seconds step_overhead_s = 0;

  Bytes element_bytes() const { return element_places * element_place_bytes; }
  Bytes state_bytes() const { return state_places * state_place_bytes; }
};

}  // namespace weir::planner
