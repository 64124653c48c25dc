// Random instances of 000 against the validator, the brute force and the bounds.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/model/tree_timing.h"
#include "planner/tree/single/greedy_tree.h"
#include "planner/tree/single/implicit_tree.h"
#include "planner/tree/single/named_trees.h"
#include "tests/unit/planner_tree/random_instances.h"
#include "tests/unit/planner_tree/tree_brute_force.h"
#include "tests/unit/planner_tree/tree_validator.h"

namespace weir::planner::tree {
namespace {

TEST(HomogeneousProperty, RandomTreesAreValidAndWithinTheirBounds) {
  std::mt19937_64 random(20120302);
  for (int k = 0; k < kRandomInstances; ++k) {
    const auto n = static_cast<std::int64_t>(2 + random() % 300);
    const ElementCosts costs{static_cast<double>(random() % 10),
                             static_cast<double>(random() % 10)};
    const std::int64_t limit =
        1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n / 2));
    const TimedTree free = *GreedyTree(n, costs);
    const TimedTree transfers = *GreedyTreeLimitedTransfers(n, limit, costs);
    const TimedTree reducers = *GreedyTreeLimitedReducers(n, limit, costs);
    ASSERT_EQ(TreeFault(free, costs), "");
    ASSERT_EQ(TreeFault(transfers, costs, {.max_transfers = limit}), "");
    ASSERT_EQ(TreeFault(reducers, costs, {.max_reducers = limit}), "");
    ASSERT_GE(free.makespan_s, LengthLowerBound(n, costs));
    ASSERT_LE(free.makespan_s, LengthUpperBound(n, costs));
    ASSERT_LE(transfers.makespan_s, LimitedLengthUpperBound(n, limit, costs));
    ASSERT_LE(reducers.makespan_s, LimitedLengthUpperBound(n, limit, costs));
    ASSERT_GE(transfers.makespan_s, free.makespan_s);
    ASSERT_GE(reducers.makespan_s, free.makespan_s);
    ASSERT_EQ(ImplicitTree::Create(n, costs)->makespan_s(), free.makespan_s);
    // Theorem 10: K reducers are an optimal answer to K transfers when d >= c.
    if (costs.transfer_s >= costs.combine_s) {
      ASSERT_EQ(reducers.makespan_s, transfers.makespan_s);
    }
    const double least = std::min(costs.transfer_s, costs.combine_s);
    const double most = std::max(costs.transfer_s, costs.combine_s);
    const double binomial_ratio = most > 0 ? 1 + least / most : 1;
    ASSERT_LE(BinomialStrategy(n, costs)->makespan_s, binomial_ratio * free.makespan_s + 1e-9);
    ASSERT_LE(FibonacciStrategy(n, costs)->makespan_s, 2 * free.makespan_s + 1e-9);
  }
}

TEST(HomogeneousProperty, RandomTreesAreTimedAsTheirSimulation) {
  std::mt19937_64 random(3);
  for (int k = 0; k < kRandomInstances; ++k) {
    const auto n = 1 + random() % 40;
    std::vector<MachineIndex> receiver = {kNoMachine};
    for (std::uint64_t i = 1; i < n; ++i)
      receiver.push_back(static_cast<MachineIndex>(random() % i));
    const ElementCosts costs{static_cast<double>(random() % 6), static_cast<double>(random() % 6)};
    const TimedTree tree = *TimeTree(receiver, costs);
    ASSERT_EQ(TreeFault(tree, costs), "");
    ASSERT_GE(tree.makespan_s, GreedyTree(static_cast<std::int64_t>(n), costs)->makespan_s);
  }
}

TEST(HomogeneousProperty, EqualsTheBruteForceForSmallTrees) {
  int instances = 0;
  for (int n = 1; n <= 7; ++n) {
    for (const auto& [d, c] :
         {std::pair{1, 1}, {1, 2}, {2, 1}, {3, 2}, {2, 3}, {1, 3}, {3, 1}, {1, 0}}) {
      const ElementCosts costs{static_cast<double>(d), static_cast<double>(c)};
      BruteForceInstance brute{d, c, -1, -1, std::vector<int>(static_cast<std::size_t>(n), 0)};
      ASSERT_EQ(GreedyTree(n, costs)->makespan_s, BruteForceMakespan(brute))
          << n << " " << d << " " << c;
      for (int limit = 1; limit <= n / 2; ++limit) {
        brute.max_transfers = limit;
        ASSERT_EQ(GreedyTreeLimitedTransfers(n, limit, costs)->makespan_s,
                  BruteForceMakespan(brute));
        brute.max_transfers = -1;
        brute.max_reducers = limit;
        ASSERT_EQ(GreedyTreeLimitedReducers(n, limit, costs)->makespan_s,
                  BruteForceMakespan(brute));
        brute.max_reducers = -1;
        instances += 2;
      }
      ++instances;
    }
  }
  EXPECT_GT(instances, 100);
}

}  // namespace
}  // namespace weir::planner::tree
