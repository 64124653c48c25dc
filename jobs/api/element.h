#pragma once

// What can be combined of a job's result: the element that each worker holds before it meets those
// of others. Upstream: the author's classes. Downstream: the planner (reduction trees), combine
// steps.

#include <cstdint>

namespace weir {

enum class ElementKind {
  kNone,    // all values of a key must meet (Reduce): nothing to combine before
  kTable,   // a value for each key
  kVector,  // a value for each place, as many for every worker
};

/// Places of a table: the unit interval of its keys in so many equal parts, so that parts of tables
/// and of vectors are addressed alike, by ranges of places.
inline constexpr std::int64_t kTablePlaces = std::int64_t{1} << 30;

/// Partial results of one layer. Plain data.
struct ElementInfo {
  ElementKind kind = ElementKind::kNone;
  std::int64_t places = 0;
  /// Vectors: stored size of one place, bytes. Tables: 0, their size is measured.
  std::int64_t place_bytes = 0;
  /// Any order of operands gives the same. Otherwise they keep the order of the input.
  bool commutative = false;
  /// Its parts can be combined one by one, by ranges of places.
  bool splits = true;
  /// The result is made of the whole element, though parts of it may be combined one by one: where
  /// nobody asks for another number, the layer has one reducer.
  bool one_reducer = false;
  /// Time to combine one byte of an element into another, until it was measured. Seconds.
  double combine_seconds_per_byte = 4e-9;
};

}  // namespace weir
