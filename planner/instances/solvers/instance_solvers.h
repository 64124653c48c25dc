#pragma once

// Tables of the algorithms that an instance file may name, one per family.
// Upstream: solve_instances, instance_pictures. Downstream: the builders of planner/tree.

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/instances/solvers/instance_fields.h"
#include "planner/tree/write/collective.h"

namespace weir::planner::tree {

/// One algorithm. At least one of the two functions is there.
struct InstanceSolver {
  std::string_view alg;
  /// Returns the result fields without the id; nullptr: those of print_collective.h.
  absl::StatusOr<ResultJson> (*solve)(InstanceFields& fields) = nullptr;
  /// Returns what pictures and plans are made from; nullptr: lengths and counts have none.
  absl::StatusOr<Collective> (*plan)(InstanceFields& fields) = nullptr;
};

/// 000: trees and their lengths.
const std::vector<InstanceSolver>& TreeSolvers();
/// 000: binomial and Fibonacci trees and strategies, bounds.
const std::vector<InstanceSolver>& NamedTreeSolvers();
/// Release dates.
const std::vector<InstanceSolver>& ReleaseSolvers();
/// Operations that do not commute.
const std::vector<InstanceSolver>& OperandOrderSolvers();
/// 001: destinations by segment.
const std::vector<InstanceSolver>& MatrixSolvers();
/// 002: greedy and round-optimal schedules, segment sizes; schedules with overlap.
const std::vector<InstanceSolver>& SegmentedSolvers();
/// 002: standard schedules.
const std::vector<InstanceSolver>& StandardSolvers();
/// 003: reductions.
const std::vector<InstanceSolver>& SpeedSolvers();
/// 003: broadcast and all-reduce.
const std::vector<InstanceSolver>& BroadcastSolvers();
/// The choice between them.
const std::vector<InstanceSolver>& SelectionSolvers();

/// All of them, in this order.
std::vector<InstanceSolver> AllSolvers();

/// Returns the solver of an algorithm, nullptr when there is none.
const InstanceSolver* FindSolver(std::string_view alg);

}  // namespace weir::planner::tree
