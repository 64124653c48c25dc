#include <algorithm>

#include "planner/instances/solvers/instance_solvers.h"
#include "planner/instances/solvers/print_collective.h"
#include "planner/instances/solvers/shared_fields.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/model/input_checks.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/model/tree_timing.h"
#include "planner/tree/single/greedy_tree.h"
#include "planner/tree/single/named_trees.h"

namespace weir::planner::tree {

namespace {

/// Trees of one order that are built: 2^20 machines at most.
constexpr std::int64_t kBuiltBinomialOrder = 20;
constexpr std::int64_t kBuiltFibonacciOrder = 27;

absl::StatusOr<ResultJson> PrintLength(const absl::StatusOr<TreeLength>& length,
                                       const InstanceFields& fields) {
  if (!length.ok()) return fields.Locate(length.status());
  return ResultJson{{"n", length->num_machines}, {"length", length->length_s}};
}

absl::StatusOr<ResultJson> SolveBinomialLength(InstanceFields& fields) {
  const std::int64_t order = fields.Integer("order");
  const ElementCosts costs = ReadElementCosts(fields);
  if (!fields.status().ok()) return fields.status();
  return PrintLength(BinomialLength(order, costs), fields);
}

absl::StatusOr<ResultJson> SolveFibonacciLength(InstanceFields& fields) {
  const std::int64_t order = fields.Integer("order");
  const ElementCosts costs = ReadElementCosts(fields);
  if (!fields.status().ok()) return fields.status();
  return PrintLength(FibonacciLength(order, costs), fields);
}

using ReceiversOfOrder = absl::StatusOr<std::vector<MachineIndex>> (*)(std::int64_t order);

absl::StatusOr<Collective> PlanOrder(InstanceFields& fields, const char* method, std::int64_t least,
                                     std::int64_t most, ReceiversOfOrder receivers_of) {
  const std::int64_t order = fields.Integer("order");
  const ElementCosts costs = ReadElementCosts(fields);
  fields.Note(fields.Locate(CheckCount("order", order, least, most)));
  if (!fields.status().ok()) return fields.status();
  auto receivers = receivers_of(order);
  if (!receivers.ok()) return receivers.status();
  auto tree = TimeTree(*receivers, costs);
  if (!tree.ok()) return tree.status();
  Collective collective;
  collective.reduction = FromTree(method, *tree, costs, 1);
  return collective;
}

absl::StatusOr<Collective> PlanBinomialTree(InstanceFields& fields) {
  return PlanOrder(fields, "binomial tree", 0, kBuiltBinomialOrder, BinomialTree);
}

absl::StatusOr<Collective> PlanFibonacciTree(InstanceFields& fields) {
  return PlanOrder(fields, "Fibonacci tree", -1, kBuiltFibonacciOrder, FibonacciTree);
}

using Strategy = absl::StatusOr<TimedTree> (*)(std::int64_t n, ElementCosts costs);

absl::StatusOr<ResultJson> SolveStrategy(InstanceFields& fields, Strategy strategy,
                                         double (*ratio_bound)(ElementCosts costs)) {
  const std::int64_t n = ReadMachines(fields, "n");
  const ElementCosts costs = ReadElementCosts(fields);
  if (!fields.status().ok()) return fields.status();
  auto tree = strategy(n, costs);
  if (!tree.ok()) return fields.Locate(tree.status());
  ResultJson result = PrintTree(*tree);
  const Seconds optimum_s = GreedyTree(n, costs)->makespan_s;
  result["optimum"] = optimum_s;
  if (optimum_s > 0) result["ratio"] = tree->makespan_s / optimum_s;
  result["ratio_bound"] = ratio_bound(costs);
  return result;
}

absl::StatusOr<Collective> PlanStrategy(InstanceFields& fields, const char* method,
                                        Strategy strategy) {
  const std::int64_t n = ReadMachines(fields, "n");
  const ElementCosts costs = ReadElementCosts(fields);
  if (!fields.status().ok()) return fields.status();
  auto tree = strategy(n, costs);
  if (!tree.ok()) return tree.status();
  Collective collective;
  collective.reduction = FromTree(method, *tree, costs, 1);
  return collective;
}

absl::StatusOr<ResultJson> SolveBinomialStrategy(InstanceFields& fields) {
  return SolveStrategy(fields, BinomialStrategy, [](ElementCosts costs) {  // Theorem 18
    const auto [least_s, most_s] = std::minmax(costs.transfer_s, costs.combine_s);
    return most_s > 0 ? 1 + least_s / most_s : 1.0;
  });
}

absl::StatusOr<ResultJson> SolveFibonacciStrategy(InstanceFields& fields) {
  return SolveStrategy(fields, FibonacciStrategy, [](ElementCosts) { return 2.0; });  // Theorem 19
}

absl::StatusOr<Collective> PlanBinomialStrategy(InstanceFields& fields) {
  return PlanStrategy(fields, "binomial strategy", BinomialStrategy);
}

absl::StatusOr<Collective> PlanFibonacciStrategy(InstanceFields& fields) {
  return PlanStrategy(fields, "Fibonacci strategy", FibonacciStrategy);
}

// Degree and depth of a given tree bound every timing of it.
absl::Status AddTreeBounds(InstanceFields& fields, ElementCosts costs, ResultJson* result) {
  const std::vector<MachineIndex> receiver = ReadReceivers(fields);
  if (!fields.status().ok()) return fields.status();
  auto order = SinkFirstOrder(receiver);
  if (!order.ok()) return fields.Locate(order.status());
  std::vector<std::int64_t> degree(receiver.size(), 0);
  std::vector<std::int64_t> depth(receiver.size(), 0);
  for (MachineIndex machine : *order) {
    if (machine == 0) continue;
    ++degree[receiver[machine]];
    depth[machine] = depth[receiver[machine]] + 1;
  }
  const std::int64_t most_degree = *std::max_element(degree.begin(), degree.end());
  const std::int64_t most_depth = *std::max_element(depth.begin(), depth.end());
  (*result)["degree"] = most_degree;
  (*result)["degree_bound"] = DegreeLowerBound(most_degree, costs);
  (*result)["depth"] = most_depth;
  (*result)["depth_bound"] = DepthLowerBound(most_depth, costs);
  return absl::OkStatus();
}

absl::StatusOr<ResultJson> SolveBounds(InstanceFields& fields) {
  const std::int64_t n = fields.Integer("n");
  const ElementCosts costs = ReadElementCosts(fields);
  fields.Note(fields.Locate(CheckCount("n", n, 1, kTreeMachinesMax)));
  fields.Note(fields.Locate(CheckCost("d", costs.transfer_s)));
  fields.Note(fields.Locate(CheckCost("c", costs.combine_s)));
  if (!fields.status().ok()) return fields.status();
  ResultJson result = {{"lower_bound", LengthLowerBound(n, costs)},
                       {"upper_bound", LengthUpperBound(n, costs)}};
  if (fields.Has("K")) {
    const std::int64_t limit = fields.Integer("K");
    fields.Note(fields.Locate(CheckCount("K", limit, 1, std::max<std::int64_t>(1, n / 2))));
    if (!fields.status().ok()) return fields.status();
    result["limited_upper_bound"] = LimitedLengthUpperBound(n, limit, costs);
  }
  if (fields.Has("child")) {
    if (absl::Status status = AddTreeBounds(fields, costs, &result); !status.ok()) return status;
  }
  return result;
}

}  // namespace

const std::vector<InstanceSolver>& NamedTreeSolvers() {
  static const std::vector<InstanceSolver> solvers = {
      {"binomial_length", SolveBinomialLength, nullptr},
      {"fibonacci_length", SolveFibonacciLength, nullptr},
      {"binomial_tree", nullptr, PlanBinomialTree},
      {"fibonacci_tree", nullptr, PlanFibonacciTree},
      {"binomial_strategy", SolveBinomialStrategy, PlanBinomialStrategy},
      {"fibonacci_strategy", SolveFibonacciStrategy, PlanFibonacciStrategy},
      {"canon_bounds", SolveBounds, nullptr},
  };
  return solvers;
}

}  // namespace weir::planner::tree
