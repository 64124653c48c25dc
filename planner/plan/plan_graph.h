#pragma once

// Who waits for whom in a plan: data dependencies together with port, lane and compute orders.
// Upstream: a plan that passed CheckStructure. Downstream: the cycle rule of CheckPlan, Predict,
// CriticalPath.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Position of a step or transfer in a PlanGraph: steps first, then transfers.
using NodeIndex = std::int32_t;

/// Which of a plan's rules the graph holds.
enum class GraphRules {
  kDataOnly,       // producer -> transfer -> consumer, in-place reads, compute order
  kDataAndStore,   // the same, and the order of the store's channels
  kDataAndOrders,  // the same, and the orders of ports and lanes
};

/// The waiting graph of one plan. An edge u -> v says that v starts no earlier than u finishes.
class PlanGraph {
 public:
  /// Builds the graph and a topological order of it.
  ///
  /// Requires: CheckStructure(plan) is OK; an index out of range is undefined behaviour here.
  /// Errors: kInvalidArgument when the waits form a cycle, naming an item that can never start.
  /// Thread-safety: pure; same plan, same order (ties by node index in waves). O(nodes + edges)
  ///   time.
  /// Checked by: tests/unit/planner_plan/check_plan_test.cc (Times), predict_test.cc.
  static absl::StatusOr<PlanGraph> Build(const Plan& plan, GraphRules rules);

  NodeIndex num_nodes() const { return static_cast<NodeIndex>(edge_begin_.size()) - 1; }
  NodeIndex NodeOfStep(StepIndex step) const { return step; }
  NodeIndex NodeOfTransfer(TransferIndex transfer) const { return num_steps_ + transfer; }
  bool IsTransfer(NodeIndex node) const { return node >= num_steps_; }
  /// Index of the node in Plan::steps, or in Plan::transfers.
  std::int32_t ItemOf(NodeIndex node) const { return IsTransfer(node) ? node - num_steps_ : node; }
  /// Nodes that wait for `node`.
  absl::Span<const NodeIndex> Successors(NodeIndex node) const;
  /// All nodes, each after everything it waits for.
  const std::vector<NodeIndex>& topological_order() const { return topological_order_; }

 private:
  PlanGraph() = default;

  std::int32_t num_steps_ = 0;
  std::vector<std::int64_t> edge_begin_;  // into edge_to_, one entry a node and one past the end
  std::vector<NodeIndex> edge_to_;
  std::vector<NodeIndex> topological_order_;
};

}  // namespace weir::planner
