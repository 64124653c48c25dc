#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/instances/solvers/instance_solvers.h"
#include "planner/instances/solvers/print_collective.h"
#include "planner/instances/solvers/shared_fields.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/model/tree_timing.h"
#include "planner/tree/single/greedy_tree.h"
#include "planner/tree/single/implicit_tree.h"

namespace weir::planner::tree {

namespace {

/// Trees up to this size are built; beyond it the length alone is computed.
constexpr std::int64_t kBuiltMachines = 1'000'000;

absl::StatusOr<Collective> OfTree(const char* method, const absl::StatusOr<TimedTree>& tree,
                                  ElementCosts costs, std::int64_t limit = kNoTransferLimit) {
  if (!tree.ok()) return tree.status();
  Collective collective;
  collective.reduction = FromTree(method, *tree, costs, 1);
  collective.max_transfers = limit;
  return collective;
}

absl::StatusOr<ResultJson> SolveGreedy(InstanceFields& fields) {
  const std::int64_t n = fields.Integer("n");
  const ElementCosts costs = ReadElementCosts(fields);
  if (!fields.status().ok()) return fields.status();
  if (n > kBuiltMachines) {
    auto tree = ImplicitTree::Create(n, costs);
    if (!tree.ok()) return fields.Locate(tree.status());
    return ResultJson{{"makespan", tree->makespan_s()}};
  }
  auto tree = GreedyTree(n, costs);
  if (!tree.ok()) return fields.Locate(tree.status());
  return PrintTree(*tree);
}

absl::StatusOr<Collective> PlanGreedy(InstanceFields& fields) {
  const std::int64_t n = ReadMachines(fields, "n");
  const ElementCosts costs = ReadElementCosts(fields);
  if (!fields.status().ok()) return fields.status();
  return OfTree("greedy tree", GreedyTree(n, costs), costs);
}

using LimitedBuilder = absl::StatusOr<TimedTree> (*)(std::int64_t, std::int64_t, ElementCosts);

absl::StatusOr<ResultJson> SolveLimited(InstanceFields& fields, LimitedBuilder build) {
  const std::int64_t n = fields.Integer("n");
  const std::int64_t limit = fields.Integer("K");
  const ElementCosts costs = ReadElementCosts(fields);
  if (!fields.status().ok()) return fields.status();
  auto tree = build(n, limit, costs);
  if (!tree.ok()) return fields.Locate(tree.status());
  ResultJson result = PrintTree(*tree);
  if (limit <= n / 2) result["upper_bound"] = LimitedLengthUpperBound(n, limit, costs);
  return result;
}

absl::StatusOr<ResultJson> SolveLimitedTransfers(InstanceFields& fields) {
  return SolveLimited(fields, [](std::int64_t n, std::int64_t limit, ElementCosts costs) {
    return GreedyTreeLimitedTransfers(n, limit, costs);
  });
}

absl::StatusOr<ResultJson> SolveLimitedReducers(InstanceFields& fields) {
  return SolveLimited(fields, GreedyTreeLimitedReducers);
}

absl::StatusOr<Collective> PlanLimitedTransfers(InstanceFields& fields) {
  const std::int64_t n = ReadMachines(fields, "n");
  const std::int64_t limit = fields.Integer("K");
  const ElementCosts costs = ReadElementCosts(fields);
  if (!fields.status().ok()) return fields.status();
  return OfTree("greedy tree, limited transfers", GreedyTreeLimitedTransfers(n, limit, costs),
                costs, limit);
}

absl::StatusOr<Collective> PlanLimitedReducers(InstanceFields& fields) {
  const std::int64_t n = ReadMachines(fields, "n");
  const std::int64_t limit = fields.Integer("K");
  const ElementCosts costs = ReadElementCosts(fields);
  if (!fields.status().ok()) return fields.status();
  return OfTree("greedy tree, limited reducers", GreedyTreeLimitedReducers(n, limit, costs), costs);
}

absl::StatusOr<Collective> PlanGivenTree(InstanceFields& fields) {
  const ElementCosts costs = ReadElementCosts(fields);
  const std::vector<MachineIndex> receiver = ReadReceivers(fields);
  if (!fields.status().ok()) return fields.status();
  return OfTree("given tree", TimeTree(receiver, costs), costs);
}

absl::StatusOr<ResultJson> SolveGivenTree(InstanceFields& fields) {
  const ElementCosts costs = ReadElementCosts(fields);
  const std::vector<MachineIndex> receiver = ReadReceivers(fields);
  if (!fields.status().ok()) return fields.status();
  auto tree = TimeTree(receiver, costs);
  if (!tree.ok()) return fields.Locate(tree.status());
  return PrintTree(*tree);
}

absl::StatusOr<ResultJson> SolveImplicit(InstanceFields& fields) {
  const std::int64_t n = fields.Integer("n");
  const std::int64_t machine = fields.Integer("machine");
  const ElementCosts costs = ReadElementCosts(fields);
  if (!fields.status().ok()) return fields.status();
  auto tree = ImplicitTree::Create(n, costs);
  if (!tree.ok()) return fields.Locate(tree.status());
  auto receiver = tree->Receiver(machine);
  if (!receiver.ok()) return fields.Locate(receiver.status());
  return ResultJson{{"makespan", tree->makespan_s()},
                    {"start", *tree->Start(machine)},
                    {"parent", *receiver},
                    {"senders", *tree->Senders(machine)}};
}

}  // namespace

const std::vector<InstanceSolver>& TreeSolvers() {
  static const std::vector<InstanceSolver> solvers = {
      {"canon_greedy", SolveGreedy, PlanGreedy},
      {"canon_limited_transfers", SolveLimitedTransfers, PlanLimitedTransfers},
      {"canon_limited_reducers", SolveLimitedReducers, PlanLimitedReducers},
      {"tree_makespan_prop3", SolveGivenTree, PlanGivenTree},
      {"implicit_parent_start", SolveImplicit, nullptr},
  };
  return solvers;
}

}  // namespace weir::planner::tree
