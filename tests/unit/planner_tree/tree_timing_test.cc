#include "planner/tree/model/tree_timing.h"

#include <gtest/gtest.h>

#include <string>

#include "planner/tree/single/named_trees.h"
#include "tests/unit/planner_tree/tree_validator.h"

namespace weir::planner::tree {
namespace {

// Hand solution: a star of three with d = c = 1: transfers at 0 and 1, combines end at 2 and 3.
TEST(TreeTiming, StarOfThree) {
  const TimedTree tree = *TimeTree({-1, 0, 0}, {1, 1});
  EXPECT_EQ(tree.makespan_s, 3);
  EXPECT_EQ(tree.start_s, (std::vector<Seconds>{0, 0, 1}));
}

// Hand solution: a chain of three with d = 2, c = 1: 0-2 transfer, 3 combined, 3-5 transfer, 6
// combined.
TEST(TreeTiming, ChainOfThree) { EXPECT_EQ(TimeTree({-1, 0, 1}, {2, 1})->makespan_s, 6); }

// Proposition 3 with the printed "jth largest" would give 1 + 1 + 1 here only by accident; an early
// and a late sender tell the two readings apart: senders ready at 0 and 6 (d = 1, c = 3): late one
// ends at 6 + 1 + 3.
TEST(TreeTiming, LateSenderDoesNotQueueBehindItself) {
  // machine 1 ready at 0; machine 2 receives from 3, whose own sender is 4: ready 4 and 8.
  const TimedTree tree = *TimeTree({-1, 0, 0, 2, 3}, {1, 3});
  EXPECT_EQ(tree.makespan_s, 12);
  EXPECT_EQ(TreeFault(tree, {1, 3}), "");
}

TEST(TreeTiming, NamedTreesHaveTheirClosedLengths) {
  for (std::int64_t order = 0; order <= 9; ++order) {
    const ElementCosts costs{2, 5};
    EXPECT_EQ(TimeTree(*BinomialTree(order), costs)->makespan_s,
              BinomialLength(order, costs)->length_s);
    EXPECT_EQ(BinomialTree(order)->size(),
              static_cast<std::size_t>(BinomialLength(order, costs)->num_machines));
    EXPECT_EQ(TimeTree(*FibonacciTree(order), costs)->makespan_s,
              FibonacciLength(order, costs)->length_s);
    EXPECT_EQ(FibonacciTree(order)->size(),
              static_cast<std::size_t>(FibonacciLength(order, costs)->num_machines));
  }
}

TEST(TreeTiming, CycleAndRangeNameTheMachine) {
  EXPECT_NE(TimeTree({-1, 2, 1}, {1, 1}).status().message().find("machine 2 never reaches"),
            std::string::npos);
  EXPECT_NE(TimeTree({-1, 7}, {1, 1}).status().message().find("machine 2 is 8"), std::string::npos);
  EXPECT_NE(TimeTree({-1, 1}, {1, 1}).status().message().find("machine 2 is 2"), std::string::npos);
}

}  // namespace
}  // namespace weir::planner::tree
