#pragma once

// Trees and schedules for associative operations that do not commute.
// Upstream: selection, instance files. Downstream: ranks of machines, refusals.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/tree/model/schedule.h"
#include "planner/tree/model/timed_tree.h"
#include "planner/tree/speeds/earliest_possible.h"

namespace weir::planner::tree {

/// Which operand each machine of a tree holds, and on which side of its receiver it is combined.
struct OperandPlacement {
  std::vector<std::int64_t> rank;  // from 0, by machine
  std::vector<bool> is_left;       // the machine's partial stands left of its receiver's
};

/// Places operands by preorder: every machine holds the least rank of its subtree, its senders
/// follow in order of arrival. Any tree keeps the order this way, because machines may be numbered
/// freely (000, section 4.1).
///
/// Symbols: root_rank = rank that the sink must hold, by default 0; reached by putting some of the
///   sink's senders to its left, which needs a subset of their subtrees with root_rank machines in
///   all.
/// Errors: kInvalidArgument naming child (cycle); kFailedPrecondition when no subset gives
///   root_rank.
/// Ties: equal starts by machine. Time: O(n log n), O(n * degree of the sink) with a root rank.
/// Checked by: tests/unit/planner_tree/operand_order_test.cc.
absl::StatusOr<OperandPlacement> PlaceOperands(
    const TimedTree& tree, std::optional<std::int64_t> root_rank = std::nullopt);

/// A tree and its operands.
struct OrderedTree {
  TimedTree tree;
  OperandPlacement placement;
};

/// Builds the fastest tree of n machines (GreedyTree, or GreedyTreeLimitedTransfers where
/// max_transfers < n) and places its operands; every root_rank from 0 to n - 1 is reached.
///
/// Ties: those of the greedy where they reach root_rank. They may not where a machine that joins
///   could receive as soon as one that continues: where transfers or combining take nothing, or too
///   little beside the other to count. There Ties::kContinuingFirst, at the same makespan.
/// Errors: kInvalidArgument naming n, d, c, K or root_rank. Time: O(n log n + n * degree of the
///   sink).
/// Checked by: tests/unit/planner_tree/operand_order_test.cc (EveryRankIsReached).
absl::StatusOr<OrderedTree> GreedyOrderedTree(std::int64_t n, ElementCosts costs,
                                              std::optional<std::int64_t> root_rank = std::nullopt,
                                              std::int64_t max_transfers = kNoTransferLimit);

/// Checks that a schedule combines only neighbours: every partial is a range of ranks, machine i
/// holding rank i. Errors: kFailedPrecondition naming the first message that joins ranges which do
/// not touch.
absl::Status CheckOrderPreserved(const Schedule& schedule);

/// Segmented schedules that keep the order with the root at an end (rank 0): pipeline, and two
/// in-order trees.
absl::StatusOr<Schedule> OrderedPipeline(std::int32_t p, std::vector<double> units,
                                         const LinkCosts& costs, PortModel ports);
absl::StatusOr<Schedule> OrderedTwoTree(std::int32_t p, std::vector<double> units,
                                        const LinkCosts& costs, PortModel ports);

}  // namespace weir::planner::tree
