#pragma once

// Earliest transfer times of a given tree (000, Propositions 2 and 3).
// Upstream: any tree. Downstream: TimedTree.

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {

/// Times a tree: every machine sends as soon as its reductions are done, a receiver takes its
/// senders in the order in which they become ready, ties by index.
///
/// Symbols: receiver[i] as in TimedTree; machine 0 is the sink and its entry is ignored. ready_i =
///   max_j (t_i^j + d + (m_i - j) max(d, c) + c), t_i^j the j-th SMALLEST start among i's m_i
///   senders (Proposition 3; the source prints "largest", for which its own proof fails).
/// Errors: kInvalidArgument naming c, d or the machine whose receiver is out of range or on a
///   cycle.
/// Thread-safety: pure. Time: O(n log n).
/// Source: 000, Proposition 3.
/// Example: receiver = {-, 0, 0}, d = c = 1 -> starts 0 and 1, makespan 3.
/// Checked by: tests/unit/planner_tree/tree_timing_test.cc.
absl::StatusOr<TimedTree> TimeTree(absl::Span<const MachineIndex> receiver, ElementCosts costs);

/// Returns the machines so that every receiver stands before its senders, machine 0 first.
/// Errors: kInvalidArgument naming the machine whose receiver is out of range or that does not
///   reach machine 0.
absl::StatusOr<std::vector<MachineIndex>> SinkFirstOrder(absl::Span<const MachineIndex> receiver);

}  // namespace weir::planner::tree
