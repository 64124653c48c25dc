#include "planner/tree/choice/operand_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/segments/circulant.h"
#include "planner/tree/segments/unidirectional_greedy.h"
#include "planner/tree/single/greedy_tree.h"
#include "tests/unit/planner_tree/port_models.h"
#include "tests/unit/planner_tree/tree_validator.h"

namespace weir::planner::tree {
namespace {

// Hand solution: machine 1 receives from 3 before it sends to 0, machine 2 sends to 0 first:
// preorder by arrival is 0, 2, 1, 3.
TEST(OperandOrder, FourMachinesByHand) {
  const OperandPlacement placement = *PlaceOperands(*GreedyTree(4, {1, 1}));
  EXPECT_EQ(placement.rank, (std::vector<std::int64_t>{0, 2, 1, 3}));
}

TEST(OperandOrder, PlacementRunsInOrderWithAnyReachableRoot) {
  for (std::int64_t n = 1; n <= 40; ++n) {
    const TimedTree tree = *GreedyTree(n, {3, 2});
    for (std::int64_t root_rank = 0; root_rank < n; ++root_rank) {
      const auto placement = PlaceOperands(tree, root_rank);
      if (!placement.ok()) {
        EXPECT_EQ(placement.status().code(), absl::StatusCode::kFailedPrecondition);
        EXPECT_NE(root_rank, 0);
        continue;
      }
      // Run it with concatenation, which does not commute.
      std::vector<std::vector<std::int64_t>> value;
      for (std::int64_t rank : placement->rank) value.push_back({rank});
      std::vector<MachineIndex> order;
      for (MachineIndex i = 1; i < n; ++i) order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](MachineIndex a, MachineIndex b) {
        return tree.start_s[a] < tree.start_s[b];
      });
      for (MachineIndex i : order) {
        auto& to = value[tree.receiver[i]];
        to.insert(placement->is_left[i] ? to.begin() : to.end(), value[i].begin(), value[i].end());
      }
      EXPECT_EQ(placement->rank[0], root_rank);
      EXPECT_TRUE(std::is_sorted(value[0].begin(), value[0].end())) << n << " " << root_rank;
    }
  }
}

// Where combining takes nothing, ties gave six machines' root subtrees of three and two: no root of
// rank 1 or 4, though a tree as fast has subtrees of three, one and one.
TEST(OperandOrder, SixMachinesWhoseCombiningTakesNothingByHand) {
  EXPECT_FALSE(PlaceOperands(*GreedyTree(6, {1, 0}), 1).ok());
  const OrderedTree ordered = *GreedyOrderedTree(6, {1, 0}, 1);
  EXPECT_EQ(ordered.tree.receiver, (std::vector<MachineIndex>{kNoMachine, 0, 0, 1, 0, 1}));
  EXPECT_EQ(ordered.tree.makespan_s, 3);
  EXPECT_EQ(TreeFault(ordered.tree, {1, 0}), "");
  EXPECT_EQ(ordered.placement.rank[0], 1);
}

TEST(OperandOrder, EveryRankIsReached) {
  for (const ElementCosts& costs : {ElementCosts{1, 0}, ElementCosts{0, 1}, ElementCosts{0, 0},
                                    ElementCosts{0.3, 0.1}, ElementCosts{1, 1e-17}}) {
    for (std::int64_t n = 1; n <= 24; ++n) {
      for (std::int64_t limit = 1; limit <= n; ++limit) {
        const Seconds makespan_s = limit < n
                                       ? GreedyTreeLimitedTransfers(n, limit, costs)->makespan_s
                                       : GreedyTree(n, costs)->makespan_s;
        for (std::int64_t root_rank = 0; root_rank < n; ++root_rank) {
          const auto ordered = GreedyOrderedTree(n, costs, root_rank, limit);
          ASSERT_TRUE(ordered.ok()) << n << " " << limit << " " << ordered.status();
          ASSERT_EQ(ordered->tree.makespan_s, makespan_s);
          ASSERT_EQ(ordered->placement.rank[0], root_rank);
          Schedule schedule = FromTree("tree", ordered->tree, costs, 1);
          RenameMachines({ordered->placement.rank.begin(), ordered->placement.rank.end()},
                         schedule);
          ASSERT_EQ(CheckOrderPreserved(schedule), absl::OkStatus());
        }
      }
    }
  }
  EXPECT_EQ(GreedyOrderedTree(4, {1, 0}, 4).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(OperandOrder, ChecksEverySchedule) {
  const std::vector<double> units(6, 1.0);
  for (std::int32_t p = 2; p <= 20; ++p) {
    EXPECT_TRUE(CheckOrderPreserved(*OrderedPipeline(p, units, {1, 1, 1}, kOverlap)).ok());
    EXPECT_TRUE(CheckOrderPreserved(*OrderedTwoTree(p, units, {1, 1, 1}, kOverlap)).ok());
  }
  const absl::Status refused =
      CheckOrderPreserved(*CirculantSchedule(7, units, {1, 1, 1}, kOverlap));
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(refused.message().find("does not keep the order"), std::string::npos);
  EXPECT_FALSE(CheckOrderPreserved(*UnidirectionalGreedySchedule(7, units, {1, 1, 1})).ok());
}

}  // namespace
}  // namespace weir::planner::tree
