#pragma once

// From planned to actual bytes: a section's size is known only when its run is published. Pure.

#include <cstdint>

#include "planner/plan/units.h"

namespace weir::master {

/// Bytes within a section: [begin, end).
struct Piece {
  planner::Bytes begin = 0;
  planner::Bytes end = 0;
  planner::Bytes size() const { return end - begin; }
};

/// Scales one planned piece of a section to the size that the section really has.
///
/// Model: piece [offset, offset + bytes) of a section planned as B bytes becomes
///   [round(offset * A / B), round((offset + bytes) * A / B)) of the A bytes it has. Neighbours
///   round the same border the same way, so pieces that tile [0, B) tile [0, A). When B = 0 the
///   first piece (offset 0 of the first transfer) takes everything: `is_first` says which it is.
/// Requires: 0 <= offset, 0 <= bytes, offset + bytes <= B, 0 <= A.
/// Thread-safety: pure. Exact: 128-bit products, ties round up.
/// Example: B = 10, A = 5: [0, 3) -> [0, 2), [3, 10) -> [2, 5).
/// Checked by: tests/unit/master/piece_scaling_test.cc.
Piece ScalePiece(planner::Bytes offset, planner::Bytes bytes, planner::Bytes planned_section,
                 planner::Bytes actual_section, bool is_first);

}  // namespace weir::master
