#include "planner/tree/single/greedy_tree.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tests/unit/planner_tree/tree_validator.h"

namespace weir::planner::tree {
namespace {

// Hand solution (000, Fig. 1): with d = c = 1 machine 0 receives at 0, 1 and 2 in reversed order of
// arrival; machine 1 receives once before it sends: 0-1, 1-2 overlap, all is combined at 4.
TEST(GreedyTree, FourMachinesAsInFigureOne) {
  const TimedTree tree = *GreedyTree(4, {1, 1});
  EXPECT_EQ(tree.makespan_s, 4);
  EXPECT_EQ(tree.start_s, (std::vector<Seconds>{0, 2, 1, 0}));
  EXPECT_EQ(TreeFault(tree, {1, 1}), "");
}

TEST(GreedyTree, OneMachineHasTheResultAtOnce) {
  EXPECT_EQ(GreedyTree(1, {3, 2})->makespan_s, 0);
  EXPECT_EQ(GreedyTreeLimitedTransfers(1, 1, {3, 2})->makespan_s, 0);
}

TEST(GreedyTree, TwoMachinesTakeOneTransferAndOneCombine) {
  EXPECT_EQ(GreedyTree(2, {3, 2})->makespan_s, 5);
}

// Hand solution: one transfer at a time and one combine at a time: d + 3 max(d, c) + c with n = 4,
// d = c = 1 is 4.
TEST(GreedyTree, OneTransferAtATimeFillsOnePort) {
  const TimedTree tree = *GreedyTreeLimitedTransfers(4, 1, {1, 1});
  EXPECT_EQ(tree.makespan_s, 4);
  EXPECT_EQ(TreeFault(tree, {1, 1}, {.max_transfers = 1}), "");
}

// The instance that refutes the printed Proposition 8 (bound 4).
TEST(GreedyTree, SixMachinesThreeTransfersTakeFive) {
  EXPECT_EQ(GreedyTreeLimitedTransfers(6, 3, {1, 1})->makespan_s, 5);
}

TEST(GreedyTree, OneReducerIsAStar) {
  const TimedTree tree = *GreedyTreeLimitedReducers(5, 1, {1, 3});
  EXPECT_EQ(tree.makespan_s, 1 + 3 * 3 + 3);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(tree.receiver[i], 0);
}

TEST(GreedyTree, SameInputGivesTheSameTree) {
  EXPECT_EQ(GreedyTree(1000, {0.3, 0.1})->receiver, GreedyTree(1000, {0.3, 0.1})->receiver);
}

TEST(GreedyTree, BadInputNamesTheField) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_NE(GreedyTree(0, {1, 1}).status().message().find("n is 0"), std::string::npos);
  EXPECT_NE(GreedyTree(3, {-1, 1}).status().message().find("d is -1"), std::string::npos);
  EXPECT_NE(GreedyTree(3, {1, inf}).status().message().find("c is inf"), std::string::npos);
  EXPECT_NE(GreedyTreeLimitedTransfers(3, 4, {1, 1}).status().message().find("K is 4"),
            std::string::npos);
  EXPECT_NE(GreedyTreeLimitedReducers(3, 0, {1, 1}).status().message().find("K is 0"),
            std::string::npos);
}

}  // namespace
}  // namespace weir::planner::tree
