#include "planner/instances/solvers/instance_solvers.h"

namespace weir::planner::tree {

namespace {

using Table = const std::vector<InstanceSolver>& (*)();

constexpr Table kTables[] = {
    TreeSolvers,      NamedTreeSolvers, ReleaseSolvers, OperandOrderSolvers, MatrixSolvers,
    SegmentedSolvers, StandardSolvers,  SpeedSolvers,   BroadcastSolvers,    SelectionSolvers};

}  // namespace

std::vector<InstanceSolver> AllSolvers() {
  std::vector<InstanceSolver> all;
  for (const Table table : kTables) all.insert(all.end(), table().begin(), table().end());
  return all;
}

const InstanceSolver* FindSolver(std::string_view alg) {
  for (const Table table : kTables) {
    for (const InstanceSolver& solver : table()) {
      if (solver.alg == alg) return &solver;
    }
  }
  return nullptr;
}

}  // namespace weir::planner::tree
