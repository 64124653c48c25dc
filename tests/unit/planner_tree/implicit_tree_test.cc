#include "planner/tree/single/implicit_tree.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/tree/single/greedy_tree.h"
#include "tests/unit/planner_tree/tree_validator.h"

namespace weir::planner::tree {
namespace {

// Hand solution: d = c = 1, hop 2, step 1. Events: e0 at 0, e1 = B at 1, e2 = A or BB at 2 (a = 0
// first: BB).
TEST(ImplicitTree, FourMachinesByHand) {
  const ImplicitTree tree = *ImplicitTree::Create(4, {1, 1});
  EXPECT_EQ(tree.makespan_s(), 4);
  EXPECT_EQ(*tree.Senders(1), (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(*tree.Start(2), 2);
  EXPECT_EQ(*tree.Start(4), 0);
}

TEST(ImplicitTree, IsAValidTreeOfTheGreedyLength) {
  for (const ElementCosts costs :
       {ElementCosts{3, 2}, {1, 1}, {1, 4}, {2, 0}, {0, 3}, {0.3, 0.1}, {0, 0}}) {
    for (const std::int64_t n : {1, 2, 3, 7, 100, 1000}) {
      const ImplicitTree implicit = *ImplicitTree::Create(n, costs);
      EXPECT_NEAR(implicit.makespan_s(), GreedyTree(n, costs)->makespan_s, 1e-9);
      TimedTree tree;
      tree.makespan_s = implicit.makespan_s();
      std::int64_t senders = 0;
      for (std::int64_t machine = 1; machine <= n; ++machine) {
        tree.receiver.push_back(static_cast<MachineIndex>(*implicit.Receiver(machine)) - 1);
        tree.start_s.push_back(machine == 1 ? 0 : *implicit.Start(machine));
        const std::vector<std::int64_t> group = *implicit.Senders(machine);
        for (std::int64_t sender : group) {
          EXPECT_EQ(*implicit.Receiver(sender), machine);
          ++senders;
        }
      }
      EXPECT_EQ(senders, n - 1);
      EXPECT_EQ(TreeFault(tree, costs), "")
          << n << " " << costs.transfer_s << " " << costs.combine_s;
    }
  }
}

TEST(ImplicitTree, AThousandBillionMachinesAnswerAtOnce) {
  const ImplicitTree tree = *ImplicitTree::Create(1'000'000'000'000'000, {2, 9});
  const std::int64_t machine = 123'456'789'012'345;
  const std::int64_t receiver = *tree.Receiver(machine);
  const auto senders = *tree.Senders(receiver);
  EXPECT_NE(std::find(senders.begin(), senders.end(), machine), senders.end());
  EXPECT_GE(*tree.Start(machine), 0);
  EXPECT_FALSE(tree.Receiver(0).ok());
}

}  // namespace
}  // namespace weir::planner::tree
