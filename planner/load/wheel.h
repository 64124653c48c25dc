#pragma once

// The schedule without a solver when no receiver is larger than a channel's share: L max(delta) <=
// 1.
// Upstream: schedule_layer.cc. Downstream: pieces.

#include <cstdint>
#include <vector>

#include "planner/load/communication.h"

namespace weir::planner::load {

/// Sends from up to L busy senders at once by rotation.
///
/// Model: the receivers are arcs of length delta_k on a circle of length one. Channel p starts at
///   offset p / L and goes round once in the window, sending to the receiver it stands over. Two
///   channels are 1 / L apart, no arc is longer: no receiver is ever under two of them. Each sender
///   sends delta_k of the window to receiver k.
/// Requires: senders.size() <= width, width * max(fractions) <= 1 (to rounding).
/// Returns: one piece a pair, one more for the arc that a channel starts inside of.
/// Source: ours; the existence is 004 theorem 4.1 (proof: rotation over equal receivers), here for
///   unequal ones.
std::vector<Piece> WheelTurn(const std::vector<std::int32_t>& senders,
                             const std::vector<double>& fractions, std::int32_t width, double begin,
                             double end);

}  // namespace weir::planner::load
