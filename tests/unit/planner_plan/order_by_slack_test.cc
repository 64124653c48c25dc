#include "planner/order/order_by_slack.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "planner/order/assignment.h"
#include "planner/order/order_bound.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"

namespace weir::planner {
namespace {

/// Two racks of `n` / 2 workers joined by `channels` each way.
NetworkModel TwoRacks(std::int32_t n, std::int32_t channels) {
  NetworkModel network;
  network.num_workers = n;
  network.seconds_per_byte = 1e-6;
  for (const bool up : {true, false}) {
    Cut cut;
    cut.name = up ? "up" : "down";
    cut.channels = channels;
    for (std::int32_t w = 0; w < n; ++w) {
      cut.from.push_back((w < n / 2) == up);
      cut.to.push_back((w < n / 2) != up);
    }
    network.cuts.push_back(cut);
  }
  return network;
}

/// n mappers, ready at these times, each making `bytes`; n reducers with these load fractions.
Plan Shuffle(const NetworkModel& network, const std::vector<Seconds>& ready_s, Bytes bytes,
             const std::vector<double>& fractions) {
  PlanAssembly assembly(network);
  std::vector<MapperDraft> mappers;
  LayerDraft layer;
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return 0.0; };
  for (std::int32_t w = 0; w < network.num_workers; ++w) {
    const auto at = static_cast<std::size_t>(w);
    mappers.push_back({w, bytes, bytes, 0, ready_s[at]});
    layer.reducers.push_back({w, fractions[at]});
  }
  EXPECT_TRUE(assembly.AddMappers(mappers).ok());
  EXPECT_TRUE(assembly.AddReducers(layer, {}).ok());
  return assembly.TakePlan();
}

/// Predicted makespan over the bound; checks the plan on the way.
double RatioOf(Plan plan) {
  Plan by_list = plan;
  EXPECT_EQ(OrderByPriority(&by_list), absl::OkStatus());
  const Seconds bound_s = *OrderBound(plan);
  EXPECT_EQ(OrderBySlack(&plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_LE(plan.summary.makespan_s, by_list.summary.makespan_s);
  return plan.summary.makespan_s / bound_s;
}

TEST(OrderBySlackTest, MeetsTheBoundOfRacksWithEqualSections) {
  for (const std::int32_t channels : {1, 2, 4}) {
    Plan plan = Shuffle(TwoRacks(8, channels), std::vector<Seconds>(8, 1.0), 8'000'000,
                        std::vector<double>(8, 0.125));
    EXPECT_LE(RatioOf(std::move(plan)), 1.005) << channels;
  }
}

TEST(OrderBySlackTest, SlowHostTakesOnlyItsRateOfALimitedTotal) {
  // While worker 7 sends and receives at a quarter of the rate, two others fit beside it through
  // three channels. Holding a whole channel each way it would leave one: the 42 others and its own
  // would then take (42 + 2 * 28) / 3 = 33 s instead of 28.
  NetworkModel network = LimitedTotal(8, 1e-6, 3);
  network.port_slowdown = {1, 1, 1, 1, 1, 1, 1, 4};
  Plan plan =
      Shuffle(network, std::vector<Seconds>(8, 1.0), 8'000'000, std::vector<double>(8, 0.125));
  EXPECT_EQ(*OrderBound(plan), 1.0 + 7 * 4.0);
  EXPECT_LE(RatioOf(std::move(plan)), 1.02);
}

TEST(OrderBySlackTest, DoesNotCutWhatFitsWhole) {
  for (const std::int32_t channels : {1, 2, 4}) {
    Plan plan = Shuffle(TwoRacks(8, channels), std::vector<Seconds>(8, 1.0), 8'000'000,
                        std::vector<double>(8, 0.125));
    const std::size_t sections = plan.transfers.size();
    ASSERT_EQ(OrderBySlack(&plan), absl::OkStatus());
    EXPECT_EQ(plan.transfers.size(), sections) << "a grant for each section is enough";
  }
}

TEST(OrderBySlackTest, WithoutWorkItIsTheListRule) {
  const Plan shuffle = Shuffle(TwoRacks(8, 2), std::vector<Seconds>(8, 1.0), 8'000'000,
                               std::vector<double>(8, 0.125));
  Plan by_list = shuffle;
  Plan by_slack = shuffle;
  ASSERT_EQ(OrderByPriority(&by_list), absl::OkStatus());
  ASSERT_EQ(OrderBySlack(&by_slack, -1), absl::OkStatus());
  EXPECT_EQ(by_slack.summary.makespan_s, by_list.summary.makespan_s);
  ASSERT_EQ(OrderBySlack(&(by_slack = shuffle), 50'000'000), absl::OkStatus());
  EXPECT_LT(by_slack.summary.makespan_s, by_list.summary.makespan_s);
}

TEST(OrderBySlackTest, EndsWithNothingToMove) {
  Plan plan =
      Shuffle(TwoRacks(8, 2), std::vector<Seconds>(8, 1.0), 0, std::vector<double>(8, 0.125));
  EXPECT_EQ(OrderBySlack(&plan), absl::OkStatus());
}

TEST(OrderBySlackTest, KeepsTheHeavyReducerBusyFromTheStart) {
  std::vector<double> fractions(8, 0.6 / 7);
  fractions[0] = 0.4;
  Plan plan =
      Shuffle(TwoRacks(8, 2), std::vector<Seconds>(8, 1.0), 8'000'000, std::move(fractions));
  EXPECT_LE(RatioOf(std::move(plan)), 1.01);
}

TEST(OrderBySlackTest, FollowsWavesOfReleases) {
  const std::vector<Seconds> ready_s = {0, 0, 3, 3, 6, 6, 9, 9};
  for (const std::int32_t channels : {1, 2, 4}) {
    Plan plan = Shuffle(TwoRacks(8, channels), ready_s, 8'000'000, std::vector<double>(8, 0.125));
    EXPECT_LE(RatioOf(std::move(plan)), 1.01) << channels;
  }
}

RC_GTEST_PROP(OrderBySlackProperty, HoldsAndStaysNearTheBound, ()) {
  const auto channels = *rc::gen::inRange(1, 5);
  std::vector<double> fractions;
  std::vector<Seconds> ready_s;
  for (int w = 0; w < 8; ++w) {
    fractions.push_back(*rc::gen::inRange(1, 20));
    ready_s.push_back(*rc::gen::inRange(0, 4));
  }
  const double sum = std::accumulate(fractions.begin(), fractions.end(), 0.0);
  for (double& fraction : fractions) fraction /= sum;
  Plan plan = Shuffle(TwoRacks(8, channels), ready_s, 4'000'000, fractions);
  RC_ASSERT(RatioOf(plan) <= 1.15);
  RC_ASSERT(OrderBySlack(&plan) == absl::OkStatus());
  for (const Transfer& transfer : plan.transfers) {
    const bool is_section = std::any_of(
        plan.sections.begin(), plan.sections.end(), [&transfer](const Section& section) {
          return section.producer == transfer.producer && section.consumer == transfer.consumer &&
                 section.bytes == transfer.bytes;
        });
    RC_ASSERT(is_section || static_cast<double>(transfer.bytes) * 1e-6 >= kShortestGrantS);
  }
}

TEST(AssignmentTest, RowsAndColumnsNeedNotBeAsMany) {
  using Columns = std::vector<std::int32_t>;
  Assignment assignment;
  EXPECT_EQ(assignment.Solve({{5, 1, 9}, {8, 0, 7}}), (Columns{2, 0}));
  EXPECT_EQ(assignment.Solve({{5, 8}, {1, 0}, {9, 7}}), (Columns{1, -1, 0}));
  EXPECT_EQ(assignment.Solve({}), Columns());
}

RC_GTEST_PROP(AssignmentProperty, EqualsTheBestPermutation, ()) {
  Assignment assignment;
  assignment.Solve({{1, 7, 2}, {5, 7, 3}, {4, 9, 9}});  // what it leaves in memory does not count
  const auto n = static_cast<std::size_t>(*rc::gen::inRange(1, 6));
  std::vector<std::vector<double>> weight(n, std::vector<double>(n));
  for (auto& row : weight) {
    for (double& w : row) w = std::max(0, *rc::gen::inRange(-5, 10));
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  double best = 0;
  do {
    double sum = 0;
    for (std::size_t row = 0; row < n; ++row) sum += weight[row][order[row]];
    best = std::max(best, sum);
  } while (std::next_permutation(order.begin(), order.end()));
  const std::vector<std::int32_t> found = assignment.Solve(weight);
  std::vector<bool> taken(n, false);
  double sum = 0;
  for (std::size_t row = 0; row < n; ++row) {
    if (found[row] < 0) continue;
    RC_ASSERT(!taken[static_cast<std::size_t>(found[row])]);
    taken[static_cast<std::size_t>(found[row])] = true;
    sum += weight[row][static_cast<std::size_t>(found[row])];
  }
  RC_ASSERT(sum == best);
}

}  // namespace
}  // namespace weir::planner
