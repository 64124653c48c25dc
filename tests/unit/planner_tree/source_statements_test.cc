// What the sources prove or count, and what docs/planner-trees.md says of it in numbers.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/segments/circulant.h"
#include "planner/tree/single/greedy_tree.h"
#include "planner/tree/single/implicit_tree.h"
#include "planner/tree/single/named_trees.h"
#include "planner/tree/speeds/class_dp.h"
#include "planner/tree/speeds/earliest_possible.h"
#include "planner/tree/speeds/slot_search.h"
#include "tests/unit/planner_tree/port_models.h"

namespace weir::planner::tree {
namespace {

// 000, Theorem 14: where one of the two costs nothing, k (d + c) is enough for 2^k and no more.
TEST(SourceStatements, BinomialTreesAreFullWhereOneCostIsNone) {
  for (const ElementCosts costs : {ElementCosts{3, 0}, {0, 3}}) {
    for (std::int64_t order = 0; order <= 12; ++order) {
      const TreeLength full = *BinomialLength(order, costs);
      EXPECT_EQ(GreedyTree(full.num_machines, costs)->makespan_s, full.length_s) << order;
      EXPECT_GT(GreedyTree(full.num_machines + 1, costs)->makespan_s, full.length_s) << order;
    }
  }
}

// 000, Theorem 17: where both cost the same, F_{k+2} machines are the most for the length of a
// Fibonacci tree.
TEST(SourceStatements, FibonacciTreesAreFullWhereCostsAreEqual) {
  for (std::int64_t order = 1; order <= 18; ++order) {
    const TreeLength full = *FibonacciLength(order, {2, 2});
    EXPECT_EQ(GreedyTree(full.num_machines, {2, 2})->makespan_s, full.length_s) << order;
    EXPECT_GT(GreedyTree(full.num_machines + 1, {2, 2})->makespan_s, full.length_s) << order;
  }
}

// The limits are 2 ln(phi) / ln 2 = 1.3885 along 2^k, and ln 2 / ln(phi) = 1.4404 along F_k.
TEST(SourceStatements, RatiosOfTheStrategiesTendToTheirLimits) {
  const double phi = (1 + std::sqrt(5.0)) / 2;
  const auto binomial = [](std::int64_t order) {
    const TreeLength tree = *BinomialLength(order, {1, 1});
    return tree.length_s / ImplicitTree::Create(tree.num_machines, {1, 1})->makespan_s();
  };
  const auto fibonacci = [](std::int64_t order) {
    const TreeLength tree = *FibonacciLength(order, {1, 0});
    return tree.length_s / ImplicitTree::Create(tree.num_machines, {1, 0})->makespan_s();
  };
  EXPECT_NEAR(binomial(59), 1.3721, 5e-5);
  EXPECT_NEAR(fibonacci(80), 1.4286, 5e-5);
  // 118 transfers and combines over 86, 80 over 56; a step more or less is some 0.02.
  EXPECT_NEAR(binomial(59), 2 * std::log(phi) / std::log(2.0), 0.02);
  EXPECT_NEAR(fibonacci(80), std::log(2.0) / std::log(phi), 0.02);
}

// 003, Theorem 1: where all times are powers of two the slowest first is best.
TEST(SourceStatements, SlowestFirstIsOptimalForPowersOfTwo) {
  std::mt19937_64 random(1);
  for (int k = 0; k < 2000; ++k) {
    std::vector<Seconds> times(1 + random() % 14);
    for (Seconds& time_s : times) time_s = static_cast<double>(std::uint64_t{1} << random() % 4);
    const SlotSearchResult best = *SearchSlots(times);
    ASSERT_TRUE(best.proven);
    ASSERT_EQ(SlowestNodeFirst(times)->makespan_s, best.makespan_s);
  }
}

Seconds TwoClasses(std::int64_t fast, std::int64_t slow) {
  return ClassOptimumByDp({2, 3}, {fast, slow})->optimum_s;
}

// 003, equation (3) and Lemmas 4 and 5, on which the bisection of the class table stands.
TEST(SourceStatements, MoreSendersNeverTakeLess) {
  for (std::int64_t slow = 0; slow <= 12; ++slow) {
    EXPECT_EQ(TwoClasses(0, slow), 3.0 * static_cast<double>(CeilLog2(slow + 1))) << slow;
    for (std::int64_t fast = 0; fast <= 12; ++fast) {
      EXPECT_GE(TwoClasses(fast, slow + 1), TwoClasses(fast, slow)) << fast << " " << slow;
      if (fast < slow - 1) continue;
      EXPECT_GE(TwoClasses(fast + 1, slow), TwoClasses(fast, slow)) << fast << " " << slow;
    }
  }
}

TEST(SourceStatements, ClassTableOfThreeHundredSenders) {
  EXPECT_EQ(ClassOptimumByDp({1, 2}, {150, 150})->optimum_s, 10);
}

// The clusters of planner_tree_bench, which are those of 003, Table 1, as far as it says.
TEST(SourceStatements, TheSearchOfTwentyOneSendersNeedsFewNodes) {
  for (const std::vector<Seconds>& speeds :
       {std::vector<Seconds>{1, 2, 3}, {2, 3, 4}, {10, 13, 17}}) {
    std::mt19937_64 random(21);
    std::int64_t nodes = 0;
    for (int k = 0; k < 50; ++k) {
      std::vector<Seconds> times(21);
      for (Seconds& time_s : times) time_s = speeds[random() % 3];
      const SlotSearchResult found = *SearchSlots(times);
      ASSERT_TRUE(found.proven);
      nodes += found.num_nodes;
    }
    EXPECT_LE(nodes / 50, 1000) << "the source prints 1 187 418; speed " << speeds[0];
  }
}

// With as much to transfer as to combine, the longest messages are near what nothing goes below.
TEST(SourceStatements, ManySegmentsAreWithinSixPercentOfTheBound) {
  for (const std::int32_t p : {2, 3, 5, 8, 9, 16, 17, 32, 33, 64, 65, 128}) {
    for (const std::int32_t q : {80, 200}) {
      const std::vector<double> units(static_cast<std::size_t>(q), 1.0);
      const LinkCosts costs{0, 1, 1};
      const double shortest_s =
          std::min(CirculantSchedule(p, units, costs, kOverlap)->makespan_s,
                   InterleavedSchedule(p, units, costs, kOverlap)->makespan_s);
      EXPECT_LE(shortest_s, 1.06 * *OverlapLowerBound(p, q, {1, 1})) << p << " " << q;
    }
  }
}

}  // namespace
}  // namespace weir::planner::tree
