#include "planner/tree/single/named_trees.h"

#include <algorithm>

#include "planner/tree/model/input_checks.h"
#include "planner/tree/model/tree_timing.h"
#include "planner/tree/single/greedy_tree.h"

namespace weir::planner::tree {

namespace {

absl::Status CheckOrder(std::int64_t order, std::int64_t least, std::int64_t most,
                        ElementCosts costs) {
  if (absl::Status status = CheckCount("order", order, least, most); !status.ok()) return status;
  if (absl::Status status = CheckCost("d", costs.transfer_s); !status.ok()) return status;
  return CheckCost("c", costs.combine_s);
}

// F_{k+2} with F_1 = F_2 = 1, and 1 for k <= 0.
std::int64_t FibonacciMachines(std::int64_t order) {
  std::int64_t previous = 1;
  std::int64_t current = 1;
  for (std::int64_t k = 1; k <= order; ++k) {
    const std::int64_t next = previous + current;
    previous = current;
    current = next;
  }
  return current;
}

// Copies `part` behind `tree` and lets its sink send to the sink of `tree`.
void Attach(const std::vector<MachineIndex>& part, std::vector<MachineIndex>& tree) {
  const auto offset = static_cast<MachineIndex>(tree.size());
  for (MachineIndex receiver : part) {
    tree.push_back(receiver == kNoMachine ? 0 : receiver + offset);
  }
}

absl::StatusOr<TimedTree> TimeStrategy(std::int64_t n, ElementCosts shape, ElementCosts costs) {
  if (absl::Status status = CheckOrder(0, 0, 0, costs); !status.ok()) return status;
  auto tree = GreedyTree(n, shape);
  if (!tree.ok()) return tree.status();
  return TimeTree(tree->receiver, costs);
}

}  // namespace

absl::StatusOr<TreeLength> BinomialLength(std::int64_t order, ElementCosts costs) {
  if (absl::Status status = CheckOrder(order, 0, kBinomialOrderMax, costs); !status.ok())
    return status;
  return TreeLength{std::int64_t{1} << order,
                    static_cast<double>(order) * (costs.transfer_s + costs.combine_s)};
}

absl::StatusOr<TreeLength> FibonacciLength(std::int64_t order, ElementCosts costs) {
  if (absl::Status status = CheckOrder(order, -1, kFibonacciOrderMax, costs); !status.ok())
    return status;
  if (order <= 0) return TreeLength{};
  return TreeLength{FibonacciMachines(order), costs.transfer_s +
                                                  static_cast<double>(order - 1) *
                                                      std::max(costs.transfer_s, costs.combine_s) +
                                                  costs.combine_s};
}

absl::StatusOr<std::vector<MachineIndex>> BinomialTree(std::int64_t order) {
  if (absl::Status status = CheckCount("order", order, 0, 26); !status.ok()) return status;
  std::vector<MachineIndex> tree = {kNoMachine};
  for (std::int64_t k = 1; k <= order; ++k) Attach(std::vector<MachineIndex>(tree), tree);
  return tree;
}

absl::StatusOr<std::vector<MachineIndex>> FibonacciTree(std::int64_t order) {
  if (absl::Status status = CheckCount("order", order, -1, 36); !status.ok()) return status;
  std::vector<MachineIndex> smaller = {kNoMachine};
  std::vector<MachineIndex> tree = {kNoMachine};
  for (std::int64_t k = 1; k <= order; ++k) {
    std::vector<MachineIndex> grown = tree;
    Attach(smaller, grown);
    smaller = std::move(tree);
    tree = std::move(grown);
  }
  return tree;
}

absl::StatusOr<TimedTree> BinomialStrategy(std::int64_t n, ElementCosts costs) {
  return TimeStrategy(n, {1, 0}, costs);
}

absl::StatusOr<TimedTree> FibonacciStrategy(std::int64_t n, ElementCosts costs) {
  return TimeStrategy(n, {1, 1}, costs);
}

}  // namespace weir::planner::tree
