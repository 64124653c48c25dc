// Lanes of cuts, and what holds of every order that uses them.

#include "planner/plan/cut_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "planner/order/order_bound.h"
#include "planner/order/order_by_slack.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/units.h"
#include "tests/unit/planner_plan/cut_rates.h"

namespace weir::planner {
namespace {

using ::testing::ElementsAre;

/// In [from, to), uniform; without a fixed size RapidCheck draws small numbers most of the time.
std::int32_t Between(std::int32_t from, std::int32_t to) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(from, to));
}

NetworkModel WithSlowdowns(std::vector<double> slowdowns, std::int32_t channels = 1) {
  NetworkModel network = LimitedTotal(static_cast<std::int32_t>(slowdowns.size()), 1, channels);
  network.port_slowdown = std::move(slowdowns);
  return network;
}

/// Lanes a channel, then those of each port.
std::vector<std::int32_t> LanesOf(const NetworkModel& network) {
  const CutLanes lanes(network);
  std::vector<std::int32_t> found = {lanes.per_channel()};
  for (WorkerIndex w = 0; w < network.num_workers; ++w) found.push_back(lanes.OfPort(w));
  return found;
}

TEST(CutLanesTest, WithoutSlowPortsAChannelIsOneLane) {
  EXPECT_THAT(LanesOf(LimitedTotal(3, 1, 2)), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(LanesOf(WithSlowdowns({1, 1})), ElementsAre(1, 1, 1));
}

TEST(CutLanesTest, ByHand) {
  EXPECT_THAT(LanesOf(WithSlowdowns({1, 4})), ElementsAre(4, 4, 1));
  EXPECT_THAT(LanesOf(WithSlowdowns({1, 2, 4})), ElementsAre(4, 4, 2, 1));
  EXPECT_THAT(LanesOf(WithSlowdowns({2, 3})), ElementsAre(6, 3, 2));
  // 1 / 1.3 = 0.769: 4 of 5; 1 / 2.7 = 0.370: 3 of 8. Just below 4 a quarter is too little.
  EXPECT_THAT(LanesOf(WithSlowdowns({1, 1.3})), ElementsAre(5, 5, 4));
  EXPECT_THAT(LanesOf(WithSlowdowns({1, 2.7})), ElementsAre(8, 8, 3));
  EXPECT_THAT(LanesOf(WithSlowdowns({1, 3.98})), ElementsAre(7, 7, 2));
  EXPECT_THAT(LanesOf(WithSlowdowns({1, 1e100})), ElementsAre(8, 8, 1));
  // A ratio of rates may be off by rounding.
  EXPECT_THAT(LanesOf(WithSlowdowns({1, 4 * (1 - 1e-12)})), ElementsAre(4, 4, 1));
  EXPECT_THAT(LanesOf(WithSlowdowns({1, 1 + 1e-12})), ElementsAre(1, 1, 1));
}

TEST(CutLanesTest, APairTakesWhatItsSlowerPortTakes) {
  const NetworkModel network = WithSlowdowns({1, 2, 4}, 3);
  const CutLanes lanes(network);
  EXPECT_EQ(lanes.Taken(0, 1), 2);
  EXPECT_EQ(lanes.Taken(2, 1), 1);
  EXPECT_EQ(lanes.ChannelsTaken(2, 0), 0.25);
  EXPECT_EQ(lanes.least_taken(), 1);
  EXPECT_EQ(lanes.Of(network.cuts[0]), 12);
}

RC_GTEST_PROP(CutLanesProperty, NoPairTakesLessThanItsRateAndOneLosesAtMostAnEighth, ()) {
  const double slowdown = 1 + Between(0, 4000) / 300.0;
  const CutLanes one(WithSlowdowns({1, slowdown}));
  RC_ASSERT(one.per_channel() <= kLanesMax);
  RC_ASSERT(one.ChannelsTaken(0, 1) >= 1 / slowdown - 1e-9);
  RC_ASSERT(one.ChannelsTaken(0, 1) <= 1 / slowdown + 0.125);
  RC_ASSERT(slowdown < 8.0 / 7 || one.ChannelsTaken(0, 1) <= 1 / slowdown + 1.0 / 14 + 1e-9);
  const double other = 1 + Between(0, 4000) / 300.0;
  const CutLanes two(WithSlowdowns({slowdown, other}));
  RC_ASSERT(two.ChannelsTaken(0, 1) >= 1 / std::max(slowdown, other) - 1e-9);
  RC_ASSERT(two.least_taken() == std::min(two.OfPort(0), two.OfPort(1)));
}

/// A slow network with one or two cuts, whose lanes are sometimes exact and sometimes not.
NetworkModel DrawSlowNetwork(std::int32_t n) {
  NetworkModel network = LimitedTotal(n, 1e-6, Between(1, 4));
  network.latency_s = *rc::gen::element(0.0, 0.01);
  static const std::vector<std::vector<double>> kSlowdowns = {
      {1, 1, 4}, {1, 2, 4}, {1, 1, 2.7}, {1, 1.3, 2, 7.5}};
  const std::vector<double> slowdowns = *rc::gen::elementOf(kSlowdowns);
  for (std::int32_t w = 0; w < n; ++w) {
    network.port_slowdown.push_back(*rc::gen::elementOf(slowdowns));
  }
  if (*rc::gen::arbitrary<bool>()) {
    Cut cut{"up", {}, {}, Between(1, 3)};
    for (std::int32_t w = 0; w < n; ++w) {
      cut.from.push_back(w < n / 2);
      cut.to.push_back(w >= n / 2);
    }
    network.cuts.push_back(cut);
  }
  return network;
}

/// Each of the first `mappers` workers sends something to each of the last `reducers`.
Plan DrawShuffle(const NetworkModel& network, std::int32_t mappers, std::int32_t reducers) {
  PlanAssembly assembly(network);
  std::vector<MapperDraft> drafts;
  for (WorkerIndex w = 0; w < mappers; ++w) {
    const Bytes bytes = Between(1, 8) * Bytes{100'000};
    drafts.push_back({w, bytes, bytes, 0, Between(0, 3) * 0.5});
  }
  LayerDraft layer;
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return 0.1; };
  for (std::int32_t k = 0; k < reducers; ++k) {
    layer.reducers.push_back({network.num_workers - 1 - k, 1.0 / reducers});
  }
  RC_ASSERT(assembly.AddMappers(drafts).ok());
  RC_ASSERT(assembly.AddReducers(layer, {}).ok());
  return assembly.TakePlan();
}

void ExpectFeasibleByRates(const Plan& plan) {
  const absl::Status feasible = CheckPlan(plan);
  RC_LOG() << feasible << "\n";
  RC_ASSERT(feasible.ok());
  const std::vector<double> most = MostAcrossCuts(plan, PlannedTransfers(plan));
  for (std::size_t cut = 0; cut < most.size(); ++cut) {
    RC_ASSERT(most[cut] <= plan.network.cuts[cut].channels * (1 + 1e-6));
  }
}

RC_GTEST_PROP(CutLanesProperty, NoOrderLetsMoreCrossACutThanItsChannels, ()) {
  const std::int32_t n = Between(2, 8);
  const Plan plan = DrawShuffle(DrawSlowNetwork(n), n, n);
  const Seconds bound_s = *OrderBound(plan);
  Plan by_priority = plan;
  RC_ASSERT(OrderByPriority(&by_priority).ok());
  ExpectFeasibleByRates(by_priority);
  Plan by_start = plan;
  for (Transfer& transfer : by_start.transfers) transfer.start_s = Between(0, 4);
  RC_ASSERT(OrderByStart(&by_start).ok());
  ExpectFeasibleByRates(by_start);
  Plan by_slack = plan;
  RC_ASSERT(OrderBySlack(&by_slack, 1'000'000).ok());
  ExpectFeasibleByRates(by_slack);
  RC_ASSERT(by_slack.summary.makespan_s <= by_priority.summary.makespan_s);
  for (const Plan& each : {by_priority, by_start, by_slack}) {
    RC_ASSERT(bound_s <= each.summary.makespan_s * (1 + 1e-9));
  }
}

RC_GTEST_PROP(CutLanesProperty, PortsThatAreAllAtFullRateChangeNothing, ()) {
  const std::int32_t n = Between(2, 8);
  NetworkModel network = DrawSlowNetwork(n);
  network.port_slowdown.clear();
  Plan bare = DrawShuffle(network, n, n);
  Plan ones = bare;
  ones.network.port_slowdown.assign(At(n), 1);
  RC_ASSERT(*OrderBound(bare) == *OrderBound(ones));
  for (absl::Status (*order)(Plan*) : {&OrderByPriority, &OrderByStart}) {
    Plan a = bare;
    Plan b = ones;
    RC_ASSERT(order(&a).ok() && order(&b).ok());
    RC_ASSERT(a.channel_order == b.channel_order);
    RC_ASSERT(a.summary.makespan_s == b.summary.makespan_s);
  }
  RC_ASSERT(OrderBySlack(&bare, 1'000'000).ok());
  RC_ASSERT(OrderBySlack(&ones, 1'000'000).ok());
  RC_ASSERT(bare.channel_order == ones.channel_order);
  RC_ASSERT(bare.send_order == ones.send_order);
}

/// Starts the transfers in this order, each as early as ports and cuts allow: cuts by the part of a
/// channel that each takes, not by orders of lanes. Returns the finish of the last reducer.
Seconds SerialMakespan(const Plan& plan, const std::vector<TransferIndex>& order) {
  std::vector<double> takes;
  const CutLanes lanes(plan.network);
  for (const Transfer& transfer : plan.transfers) {
    takes.push_back(lanes.ChannelsTaken(transfer.sender, transfer.receiver));
  }
  std::vector<Interval> times(plan.transfers.size(), {-1, -1});
  const auto fits = [&](TransferIndex index, Seconds start_s, Seconds finish_s) {
    const Transfer& transfer = plan.transfers[At(index)];
    // What a cut carries rises at starts only, those of the others and this one's own.
    std::vector<Seconds> moments = {start_s};
    for (const Interval& other : times) {
      if (other.start_s > start_s && other.start_s < finish_s) moments.push_back(other.start_s);
    }
    for (const Seconds moment_s : moments) {
      std::vector<double> crossing(plan.network.cuts.size(), 0);
      for (std::size_t i = 0; i < times.size(); ++i) {
        if (times[i].start_s > moment_s || times[i].finish_s <= moment_s + 1e-12) continue;
        const Transfer& other = plan.transfers[i];
        if (other.sender == transfer.sender || other.receiver == transfer.receiver) return false;
        for (const std::int32_t cut : CutsCrossed(plan.network, other.sender, other.receiver)) {
          crossing[At(cut)] += takes[i];
        }
      }
      for (const std::int32_t cut : CutsCrossed(plan.network, transfer.sender, transfer.receiver)) {
        if (crossing[At(cut)] + takes[At(index)] > plan.network.cuts[At(cut)].channels + 1e-9) {
          return false;
        }
      }
    }
    return true;
  };
  Seconds last_s = 0;
  for (const TransferIndex index : order) {
    const Transfer& transfer = plan.transfers[At(index)];
    const Seconds ready_s = plan.steps[At(transfer.producer)].duration_s;  // mappers start at 0
    const Seconds lasts_s =
        plan.network.TransferSeconds(transfer.sender, transfer.receiver, transfer.bytes);
    std::vector<Seconds> candidates = {ready_s};
    for (const Interval& other : times) candidates.push_back(std::max(ready_s, other.finish_s));
    std::sort(candidates.begin(), candidates.end());
    for (const Seconds start_s : candidates) {
      if (!fits(index, start_s, start_s + lasts_s)) continue;
      times[At(index)] = {start_s, start_s + lasts_s};
      break;
    }
    last_s = std::max(last_s, times[At(index)].finish_s);
  }
  Seconds makespan_s = 0;
  for (const ComputeStep& step : plan.steps) {
    Seconds ready_s = 0;
    for (const TransferIndex index : step.after_transfers) {
      ready_s = std::max(ready_s, times[At(index)].finish_s);
    }
    makespan_s = std::max(makespan_s, ready_s + step.duration_s);
  }
  return makespan_s;
}

RC_GTEST_PROP(CutLanesProperty, TheBestOfAllOrdersIsBetweenTheBoundAndTheListRule, ()) {
  // Two senders, two or three receivers, nobody both, so that steps never wait for each other.
  const std::int32_t reducers = Between(2, 4);
  const Plan plan = DrawShuffle(DrawSlowNetwork(2 + reducers), 2, reducers);
  std::vector<TransferIndex> order(plan.transfers.size());
  std::iota(order.begin(), order.end(), 0);
  Seconds best_s = SerialMakespan(plan, order);
  while (std::next_permutation(order.begin(), order.end())) {
    best_s = std::min(best_s, SerialMakespan(plan, order));
  }
  RC_ASSERT(*OrderBound(plan) <= best_s * (1 + 1e-9));
  Plan by_priority = plan;
  RC_ASSERT(OrderByPriority(&by_priority).ok());
  RC_ASSERT(by_priority.summary.makespan_s >= best_s * (1 - 1e-9));
}

}  // namespace
}  // namespace weir::planner
