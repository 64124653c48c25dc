#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/instances/instance_solvers.h"
#include "planner/tree/greedy_tree.h"
#include "planner/tree/implicit_tree.h"
#include "planner/tree/named_trees.h"
#include "planner/tree/operand_order.h"
#include "planner/tree/release_dates.h"
#include "planner/tree/release_exact.h"
#include "planner/tree/tree_timing.h"

namespace weir::planner::tree {

namespace {

/// Trees up to this size are printed with their result, machines from 1 as in the source.
constexpr std::size_t kPrintedMachines = 1000;

/// Trees up to this size are built; beyond it the length alone is computed.
constexpr std::int64_t kBuiltMachines = 1'000'000;

ElementCosts ReadCosts(InstanceFields& fields) { return {fields.Number("d"), fields.Number("c")}; }

absl::StatusOr<ResultJson> PrintTree(const absl::StatusOr<TimedTree>& tree,
                                     const InstanceFields& fields) {
  if (!tree.ok()) return fields.Locate(tree.status());
  ResultJson result = {{"makespan", tree->makespan_s}};
  if (tree->receiver.size() > kPrintedMachines) return result;
  ResultJson child = ResultJson::array();
  ResultJson start = ResultJson::array();
  for (std::size_t i = 1; i < tree->receiver.size(); ++i) {
    child.push_back(tree->receiver[i] + 1);
    start.push_back(tree->start_s[i]);
  }
  result["child"] = std::move(child);
  result["start"] = std::move(start);
  return result;
}

// The child list of machines 2..n.
absl::StatusOr<std::vector<MachineIndex>> ReadReceivers(InstanceFields& fields) {
  const std::int64_t n = fields.Integer("n");
  const std::vector<std::int64_t> child = fields.Integers("child");
  if (!fields.status().ok()) return fields.status();
  if (static_cast<std::int64_t>(child.size()) != n - 1) {
    return fields.Error("child",
                        absl::StrCat("has ", child.size(), " entries; n = ", n, " needs ", n - 1));
  }
  std::vector<MachineIndex> receiver = {kNoMachine};
  for (std::size_t i = 0; i < child.size(); ++i) {
    if (child[i] < 1 || child[i] > n) {
      return fields.Error("child",
                          absl::StrCat("entry ", i, " is ", child[i], "; it must lie in 1..", n));
    }
    receiver.push_back(static_cast<MachineIndex>(child[i] - 1));
  }
  return receiver;
}

absl::StatusOr<ResultJson> SolveGreedy(InstanceFields& fields) {
  const std::int64_t n = fields.Integer("n");
  const ElementCosts costs = ReadCosts(fields);
  if (!fields.status().ok()) return fields.status();
  if (n <= kBuiltMachines) return PrintTree(GreedyTree(n, costs), fields);
  auto tree = ImplicitTree::Create(n, costs);
  if (!tree.ok()) return fields.Locate(tree.status());
  return ResultJson{{"makespan", tree->makespan_s()}};
}

absl::StatusOr<ResultJson> SolveLimitedTransfers(InstanceFields& fields) {
  const std::int64_t n = fields.Integer("n");
  const std::int64_t limit = fields.Integer("K");
  const ElementCosts costs = ReadCosts(fields);
  if (!fields.status().ok()) return fields.status();
  return PrintTree(GreedyTreeLimitedTransfers(n, limit, costs), fields);
}

absl::StatusOr<ResultJson> SolveLimitedReducers(InstanceFields& fields) {
  const std::int64_t n = fields.Integer("n");
  const std::int64_t limit = fields.Integer("K");
  const ElementCosts costs = ReadCosts(fields);
  if (!fields.status().ok()) return fields.status();
  return PrintTree(GreedyTreeLimitedReducers(n, limit, costs), fields);
}

absl::StatusOr<ResultJson> SolveTreeMakespan(InstanceFields& fields) {
  const ElementCosts costs = ReadCosts(fields);
  auto receiver = ReadReceivers(fields);
  if (!receiver.ok()) return receiver.status();
  return PrintTree(TimeTree(*receiver, costs), fields);
}

absl::StatusOr<ResultJson> PrintLength(const absl::StatusOr<TreeLength>& length,
                                       const InstanceFields& fields) {
  if (!length.ok()) return fields.Locate(length.status());
  return ResultJson{{"n", length->num_machines}, {"length", length->length_s}};
}

absl::StatusOr<ResultJson> SolveBinomialLength(InstanceFields& fields) {
  const std::int64_t order = fields.Integer("order");
  const ElementCosts costs = ReadCosts(fields);
  if (!fields.status().ok()) return fields.status();
  return PrintLength(BinomialLength(order, costs), fields);
}

absl::StatusOr<ResultJson> SolveFibonacciLength(InstanceFields& fields) {
  const std::int64_t order = fields.Integer("order");
  const ElementCosts costs = ReadCosts(fields);
  if (!fields.status().ok()) return fields.status();
  return PrintLength(FibonacciLength(order, costs), fields);
}

absl::StatusOr<ResultJson> SolveImplicit(InstanceFields& fields) {
  const std::int64_t n = fields.Integer("n");
  const std::int64_t machine = fields.Integer("machine");
  const ElementCosts costs = ReadCosts(fields);
  if (!fields.status().ok()) return fields.status();
  auto tree = ImplicitTree::Create(n, costs);
  if (!tree.ok()) return fields.Locate(tree.status());
  auto receiver = tree->Receiver(machine);
  if (!receiver.ok()) return fields.Locate(receiver.status());
  return ResultJson{
      {"makespan", tree->makespan_s()}, {"start", *tree->Start(machine)}, {"parent", *receiver}};
}

absl::StatusOr<ResultJson> SolveReleaseDates(InstanceFields& fields) {
  const std::int64_t n = fields.Integer("n");
  const ElementCosts costs = ReadCosts(fields);
  const std::vector<double> release = fields.Numbers("release");
  if (!fields.status().ok()) return fields.status();
  if (static_cast<std::int64_t>(release.size()) != n) {
    return fields.Error("release", absl::StrCat("has ", release.size(), " entries; n = ", n));
  }
  auto tree = ReleaseDateTree(release, costs);
  if (!tree.ok()) return fields.Locate(tree.status());
  auto optimum_s = ExactReleaseLength(release, costs);
  if (!optimum_s.ok()) return fields.Locate(optimum_s.status());
  return ResultJson{{"optimum", *optimum_s},
                    {"lower_bound", *ReleaseLowerBound(release, costs)},
                    {"greedy_at_most", tree->makespan_s},
                    {"makespan", tree->makespan_s}};
}

absl::StatusOr<ResultJson> SolveOperandOrder(InstanceFields& fields) {
  auto receiver = ReadReceivers(fields);
  if (!receiver.ok()) return receiver.status();
  const std::vector<double> start = fields.Numbers("start");
  if (!fields.status().ok()) return fields.status();
  if (start.size() + 1 != receiver->size()) {
    return fields.Error(
        "start", absl::StrCat("has ", start.size(), " entries; it needs ", receiver->size() - 1));
  }
  TimedTree tree;
  tree.receiver = *std::move(receiver);
  tree.start_s = {0};
  tree.start_s.insert(tree.start_s.end(), start.begin(), start.end());
  auto placement = PlaceOperands(tree);
  if (!placement.ok()) return fields.Locate(placement.status());
  ResultJson ranks = ResultJson::array();
  for (std::int64_t rank : placement->rank) ranks.push_back(rank + 1);
  return ResultJson{{"rank_of_node", std::move(ranks)}};
}

}  // namespace

const std::vector<InstanceSolver>& HomogeneousSolvers() {
  static const std::vector<InstanceSolver> solvers = {
      {"canon_greedy", SolveGreedy},
      {"canon_limited_transfers", SolveLimitedTransfers},
      {"canon_limited_reducers", SolveLimitedReducers},
      {"tree_makespan_prop3", SolveTreeMakespan},
      {"binomial_length", SolveBinomialLength},
      {"fibonacci_length", SolveFibonacciLength},
      {"implicit_parent_start", SolveImplicit},
      {"release_dates_strict", SolveReleaseDates},
      {"order_preserving_preorder", SolveOperandOrder},
  };
  return solvers;
}

}  // namespace weir::planner::tree
