// Random release dates against the simulator, the lower bound and a search in whole time units.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "planner/tree/single/release_dates.h"
#include "planner/tree/single/release_exact.h"
#include "tests/unit/planner_tree/random_instances.h"
#include "tests/unit/planner_tree/tree_brute_force.h"
#include "tests/unit/planner_tree/tree_validator.h"

namespace weir::planner::tree {
namespace {

TEST(ReleaseProperty, TreesAreValidAndNotBelowTheBound) {
  std::mt19937_64 random(71);
  for (int k = 0; k < kRandomInstances; ++k) {
    const auto n = 1 + random() % 40;
    const ElementCosts costs{static_cast<double>(random() % 5), static_cast<double>(random() % 5)};
    std::vector<Seconds> release;
    for (std::uint64_t i = 0; i < n; ++i)
      release.push_back(static_cast<double>(random() % 30) / (k % 2 == 0 ? 1 : 7));
    const std::int64_t limit =
        k % 3 == 0 ? static_cast<std::int64_t>(1 + random() % n) : kNoTransferLimit;
    const TimedTree tree = *ReleaseDateTree(release, costs, limit);
    const TreeRules rules{limit == kNoTransferLimit ? -1 : limit, -1, release};
    ASSERT_EQ(TreeFault(tree, costs, rules), "") << n << " " << limit;
    ASSERT_GE(tree.makespan_s, *ReleaseLowerBound(release, costs, limit) - 1e-9);
  }
}

TEST(ReleaseProperty, ExactSearchEqualsTheBruteForce) {
  std::mt19937_64 random(73);
  int optimal = 0;
  int total = 0;
  double worst = 1;
  for (int n = 2; n <= 6; ++n) {
    for (int k = 0; k < 40; ++k) {
      const auto [d, c] =
          std::vector<std::pair<int, int>>{{1, 1}, {2, 1}, {1, 2}, {3, 2}}[random() % 4];
      BruteForceInstance brute{d, c, k % 4 == 3 ? static_cast<int>(1 + random() % 2) : -1, -1, {}};
      std::vector<Seconds> release;
      for (int i = 0; i < n; ++i) {
        brute.release.push_back(static_cast<int>(random() % 7));
        release.push_back(brute.release.back());
      }
      const ElementCosts costs{static_cast<double>(d), static_cast<double>(c)};
      const std::int64_t limit = brute.max_transfers < 0 ? kNoTransferLimit : brute.max_transfers;
      const double exact = *ExactReleaseLength(release, costs, limit);
      ASSERT_EQ(exact, BruteForceMakespan(brute)) << n << " " << d << " " << c << " " << limit;
      const double greedy = ReleaseDateTree(release, costs, limit)->makespan_s;
      worst = std::max(worst, greedy / exact);
      ASSERT_GE(exact, *ReleaseLowerBound(release, costs, limit));
      optimal += greedy == exact ? 1 : 0;
      ++total;
    }
  }
  EXPECT_GT(optimal, total * 3 / 4);
  // What was found; a larger one says that the trees got worse.
  EXPECT_DOUBLE_EQ(worst, 8.0 / 7);
}

}  // namespace
}  // namespace weir::planner::tree
