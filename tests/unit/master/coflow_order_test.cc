// The order of jobs on shared ports, by hand and against all permutations.

#include "runtime/master/share/coflow_order.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"

namespace weir::master {
namespace {

using Order = std::vector<std::size_t>;

/// Weighted sum of the moments at which each job's last resource has served it and all before it.
double WeightedCompletion(const std::vector<CoflowDemand>& demands, const Order& order) {
  absl::btree_map<std::int64_t, double> served_s;
  double sum = 0;
  for (const std::size_t job : order) {
    double end_s = 0;
    for (const auto& [resource, seconds] : demands[job].seconds) {
      end_s = std::max(end_s, served_s[resource] += seconds);
    }
    sum += demands[job].weight * end_s;
  }
  return sum;
}

double LeastOfAll(const std::vector<CoflowDemand>& demands) {
  Order order(demands.size());
  std::iota(order.begin(), order.end(), 0);
  double least = std::numeric_limits<double>::infinity();
  do {
    least = std::min(least, WeightedCompletion(demands, order));
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(CoflowOrderTest, TheShorterOneGoesFirst) {
  EXPECT_EQ(OrderCoflows({}), Order{});
  const std::vector<CoflowDemand> two = {{1, {{0, 10}}}, {1, {{0, 1}}}};
  EXPECT_EQ(OrderCoflows(two), (Order{1, 0}));
}

TEST(CoflowOrderTest, WeightCountsAgainstLength) {
  const std::vector<CoflowDemand> two = {{100, {{0, 10}}}, {1, {{0, 1}}}};
  EXPECT_EQ(OrderCoflows(two), (Order{0, 1}));
}

TEST(CoflowOrderTest, TheBottleneckDecides) {
  // The third job is small on both ports, the first two fill one each.
  const std::vector<CoflowDemand> three = {{1, {{0, 5}}}, {1, {{1, 8}}}, {1, {{0, 1}, {1, 1}}}};
  const Order order = OrderCoflows(three);
  EXPECT_EQ(order[0], 2u);
}

TEST(CoflowOrderTest, JobsWithNothingToMoveHaveAPlaceToo) {
  const std::vector<CoflowDemand> three = {{1, {}}, {1, {{4, 3}}}, {1, {}}};
  Order order = OrderCoflows(three);
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, (Order{0, 1, 2}));
}

RC_GTEST_PROP(CoflowOrderProperty, IsWithinTwiceOfTheBestPermutation, ()) {
  const auto num_jobs = *rc::gen::inRange<std::size_t>(1, 7);
  const auto num_ports = *rc::gen::inRange(1, 6);
  std::vector<CoflowDemand> demands(num_jobs);
  for (CoflowDemand& demand : demands) {
    demand.weight = *rc::gen::inRange(1, 20);
    for (int p = 0; p < num_ports; ++p) {
      if (const int seconds = *rc::gen::inRange(0, 30); seconds > 5) demand.seconds[p] = seconds;
    }
  }
  const Order order = OrderCoflows(demands);
  Order sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t j = 0; j < num_jobs; ++j) RC_ASSERT(sorted[j] == j);
  RC_ASSERT(WeightedCompletion(demands, order) <= 2 * LeastOfAll(demands) * (1 + 1e-9));
}

}  // namespace
}  // namespace weir::master
