#pragma once

// What is known of a job that is a loop without running it, and what its update steps say.
// Upstream: the author's class. Downstream: the planner (through the master), progress.

#include <cstdint>
#include <string>

namespace weir {

/// A job that maps what stays with its mappers again and again, each time with the state that the
/// elements of the time before led to. Iteration 0 is the first pass over the input, without a
/// state. Plain data.
struct LoopInfo {
  /// Most iterations after iteration 0.
  std::int32_t iterations = 1;
  /// Values of an element and of a state, and stored bytes of one.
  std::int64_t element_places = 1;
  std::int64_t state_places = 1;
  std::int64_t place_bytes = 8;
  /// Elements may be combined by ranges of places; that of iteration 0 may be another thing.
  bool splits = true;
  bool first_splits = true;
  /// Any order of operands gives the same. Otherwise they keep the order of the input.
  bool commutative = false;
  /// Each place of a state is made of the same place of the element and of the state before
  /// (kElementWise of loop_program.h), so that each worker may update a range of places. Then both
  /// have the same places and elements split. Otherwise one worker updates the whole state.
  bool element_wise = false;
  /// Rates until they were measured: mapping what a byte of input became once more, combining a
  /// byte of an element into another, making the state of a byte of element.
  double iterate_seconds_per_byte = 1e-9;
  double combine_seconds_per_byte = 4e-9;
  double update_seconds_per_byte = 4e-9;
};

/// What an update step says of its iteration. Of several that update a range each, the one with the
/// first place says it; the name of the others' measure is empty.
struct LoopReport {
  std::int32_t iteration = 0;
  /// What gets smaller (or larger) while the loop comes to its end, and its name.
  double measure = 0;
  std::string measure_name;
  /// This state is the last one.
  bool converged = false;
};

}  // namespace weir
