#pragma once

// A reduction tree with transfer times: what every single-tree builder returns.
// Upstream: greedy_tree, named_trees, release_dates. Downstream: tree_timing, operand_order,
// schedule, tree_drawing.

#include <cstdint>
#include <vector>

#include "planner/plan/units.h"

namespace weir::planner::tree {

/// Position of a machine in a tree, from 0. Machine 0 is the sink (000) or root (002) unless said
/// otherwise.
using MachineIndex = std::int32_t;

inline constexpr MachineIndex kNoMachine = -1;

/// Machines of one materialised tree: beyond this only lengths and implicit queries are given (two
/// arrays of 2^27 entries are 1.6 GB).
inline constexpr std::int64_t kTreeMachinesMax = std::int64_t{1} << 27;

/// Costs of the homogeneous model of 000, section 3.1.
///
/// Model: moving one element takes d and occupies both machines' ports; combining two takes c on
///   the receiver and overlaps with transfers.
/// Symbols: d = transfer_s, c = combine_s, both >= 0 and finite.
struct ElementCosts {
  Seconds transfer_s = 0;
  Seconds combine_s = 0;
};

/// A tree over n machines with the start of each machine's one transfer.
///
/// Model: 000, section 3.2. The source calls the receiver "child"; here every edge has a sender and
///   a receiver.
struct TimedTree {
  /// receiver[i] = machine to which i sends; kNoMachine for the sink.
  std::vector<MachineIndex> receiver;
  /// Start of i's transfer; 0 for the sink.
  std::vector<Seconds> start_s;
  /// Time at which the sink holds the result.
  Seconds makespan_s = 0;
};

}  // namespace weir::planner::tree
