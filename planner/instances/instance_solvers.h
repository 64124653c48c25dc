#pragma once

// Tables of the algorithms that an instance file may name, one per family.
// Upstream: solve_instances. Downstream: the builders of this folder.

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/instances/instance_fields.h"

namespace weir::planner::tree {

/// Solves one instance; returns its result fields without the id.
struct InstanceSolver {
  std::string_view alg;
  absl::StatusOr<ResultJson> (*solve)(InstanceFields& fields);
};

/// 000, with release dates and operand order.
const std::vector<InstanceSolver>& HomogeneousSolvers();
/// 001 and 002.
const std::vector<InstanceSolver>& SegmentedSolvers();
/// 003.
const std::vector<InstanceSolver>& HeterogeneousSolvers();

}  // namespace weir::planner::tree
