#include "planner/tree/choice/operand_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "planner/tree/segments/circulant.h"
#include "planner/tree/segments/unidirectional_greedy.h"
#include "planner/tree/single/greedy_tree.h"
#include "tests/unit/planner_tree/port_models.h"

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
