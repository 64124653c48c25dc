#pragma once

// Receivers of the standard trees over ranks 0..p-1 with root 0 (002, "standard algorithms"; 001,
// rotating centres). Upstream: selection, region map. Downstream: ListSchedule.

#include <cstdint>
#include <utility>
#include <vector>

#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {

using Receivers = std::vector<MachineIndex>;

/// Rank i sends to i with its lowest set bit cleared. Any p >= 1.
Receivers BinomialShape(std::int32_t p);

/// Rank i sends to i - 1.
Receivers PipelineShape(std::int32_t p);

/// Heap-shaped: rank i sends to (i - 1) / 2.
Receivers BinaryShape(std::int32_t p);

/// Everybody sends to the root.
Receivers StarShape(std::int32_t p);

/// Binary tree over ranks 1..p-1 numbered in order (every subtree is a range of ranks), its top
/// sending to the root.
Receivers InOrderBinaryShape(std::int32_t p);

/// The two trees of Sanders, Speck and Traeff: in-order trees over 1..p-1, the second shifted by
/// one rank (even p) or mirrored (odd p), so that inner machines of one are leaves of the other.
/// Not order-preserving when shifted.
std::pair<Receivers, Receivers> TwoTreeShapes(std::int32_t p);

/// Two trees of which every subtree is a range of ranks: the second is the in-order tree over
/// 2..p-1 with rank 1 as its leftmost leaf. For non-commutative operations.
std::pair<Receivers, Receivers> OrderedTwoTreeShapes(std::int32_t p);

/// One tree per centre 1..p-1: everybody sends to the centre, the centre to the root. Segment j
/// uses centre 1 + j mod (p - 1). Source: 001's model, where latency holds no port.
std::vector<Receivers> RotatingCentreShapes(std::int32_t p);

}  // namespace weir::planner::tree
