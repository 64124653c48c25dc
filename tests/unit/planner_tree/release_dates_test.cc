#include "planner/tree/single/release_dates.h"

#include <gtest/gtest.h>

#include "planner/tree/single/greedy_tree.h"
#include "planner/tree/single/release_exact.h"
#include "tests/unit/planner_tree/tree_validator.h"

namespace weir::planner::tree {
namespace {

// Hand solution: d = c = 1, ready at 0, 0, 3, 5: the late machine receives or sends at 5: 5 + 2 =
// 7; the others are done by 5.
TEST(ReleaseDates, FourMachinesByHand) {
  const std::vector<Seconds> release = {0, 0, 3, 5};
  const TimedTree tree = *ReleaseDateTree(release, {1, 1});
  EXPECT_EQ(tree.makespan_s, 7);
  EXPECT_EQ(*ReleaseLowerBound(release, {1, 1}), 7);
  EXPECT_EQ(*ExactReleaseLength(release, {1, 1}), 7);
  EXPECT_EQ(TreeFault(tree, {1, 1}, {.release_s = release}), "");
}

TEST(ReleaseDates, AllReadyIsTheGreedyTree) {
  EXPECT_EQ(ReleaseDateTree(std::vector<Seconds>(100, 2), {3, 2})->makespan_s,
            2 + GreedyTree(100, {3, 2})->makespan_s);
}

// Four waves of 64 mappers, 5 apart, d = 3 and c = 2: 45, against 49 waiting for all and 104 wave
// by wave: the first wave, then after each next one its own reduction and one message. Bound 41.
TEST(ReleaseDates, FourWavesAreReducedAsTheyCome) {
  std::vector<Seconds> release;
  for (int wave = 0; wave < 4; ++wave) release.insert(release.end(), 64, 5.0 * wave);
  const ElementCosts costs{3, 2};
  const TimedTree tree = *ReleaseDateTree(release, costs);
  EXPECT_EQ(TreeFault(tree, costs, {.release_s = release}), "");
  EXPECT_EQ(tree.makespan_s, 45);
  EXPECT_EQ(*ReleaseLowerBound(release, costs), 41);
  EXPECT_EQ(15 + GreedyTree(256, costs)->makespan_s, 49);
}

}  // namespace
}  // namespace weir::planner::tree
