#pragma once

// Finds in one order of transfers those that cannot be overtaken for granted. Pure. Upstream:
// TransferScheduler.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace weir::master {

/// Holds a number for each place of an order, and finds the first place from which on a number is
/// too large. A tree of maxima: O(log places) a change and a search, however many places lie
/// between.
///
/// Thread-safety: none. Checked by: tests/unit/master/overtake_index_test.cc.
class OvertakeIndex {
 public:
  /// Of places that nobody looks for any more, and of those that everybody must look at.
  static constexpr double kNever = -std::numeric_limits<double>::infinity();
  static constexpr double kAlways = std::numeric_limits<double>::infinity();

  explicit OvertakeIndex(std::int32_t num_places);

  void Set(std::int32_t place, double value);

  /// Returns the first place at or after `from` of which `too_large` holds; the number of places
  /// when there is none. Requires: too_large(a) implies too_large(b) for a < b; not of kNever.
  template <typename TooLarge>
  std::int32_t First(std::int32_t from, const TooLarge& too_large) const;

 private:
  std::int32_t num_places_;
  std::size_t num_leaves_ = 1;  // a power of two
  std::vector<double> most_;    // of node i: of its children, 2 i and 2 i + 1; leaves last
};

template <typename TooLarge>
std::int32_t OvertakeIndex::First(std::int32_t from, const TooLarge& too_large) const {
  if (from >= num_places_) return num_places_;
  // Up over whole subtrees to the right of what was looked at, then down into the first one that
  // holds such a place.
  std::size_t node = num_leaves_ + static_cast<std::size_t>(from);
  while (!too_large(most_[node])) {
    while (node % 2 == 1) node /= 2;
    if (node == 0) return num_places_;
    ++node;
  }
  while (node < num_leaves_) {
    node *= 2;
    if (!too_large(most_[node])) ++node;
  }
  return static_cast<std::int32_t>(node - num_leaves_);
}

}  // namespace weir::master
