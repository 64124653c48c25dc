#include "planner/order/order_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "planner/explain/plan_limits.h"
#include "planner/order/order_by_rates.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/predict/predict.h"
#include "tests/unit/planner_plan/two_by_two.h"

namespace weir::planner {
namespace {

TEST(OrderBoundTest, OneChannelByHand) {
  // The cut: first head 2, 4 s of transfers, 1 s of reduce after the last: 7, which the hand-solved
  // plan reaches.
  EXPECT_EQ(*OrderBound(TwoByTwo(1)), 7);
}

TEST(OrderBoundTest, NoCutByHand) {
  // The longest chain: map 3, transfer 2, reduce 1.
  EXPECT_EQ(*OrderBound(TwoByTwo(0)), 6);
}

/// Workers 0 and 1 send 8 B each to workers 2 and 3, ready at 0; 1 s a byte at full rate.
Plan TwoToTwo(std::vector<double> slowdowns, std::int32_t channels) {
  NetworkModel network = LimitedTotal(4, 1, channels);
  network.port_slowdown = std::move(slowdowns);
  PlanAssembly assembly(network);
  LayerDraft layer;
  layer.reducers = {{2, 0.5}, {3, 0.5}};
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return 0.0; };
  EXPECT_EQ(assembly.AddMappers({{0, 16, 16, 0, 0}, {1, 16, 16, 0, 0}}), absl::OkStatus());
  EXPECT_EQ(assembly.AddReducers(layer, {}), absl::OkStatus());
  return assembly.TakePlan();
}

TEST(OrderBoundTest, SlowTransfersCountByTheirRate) {
  // All four at half rate: two of 16 s share the channel at a time, 32 s as for four of 8 s.
  Plan plan = TwoToTwo({2, 2, 1, 1}, 1);
  EXPECT_EQ(*OrderBound(plan), 32);
  EXPECT_EQ(FindLimits(plan).cut_s, 32);
  ASSERT_EQ(OrderByPriority(&plan), absl::OkStatus());
  EXPECT_EQ(plan.summary.makespan_s, 32);
}

TEST(OrderBoundTest, BesideASlowTransferThereIsRoomForOneLessAtFullRate) {
  // Worker 0 is slow: its two take 16 s each, one after the other; nothing at full rate fits beside
  // them through one channel, so the two of 8 s come on top.
  Plan plan = TwoToTwo({2, 1, 1, 1}, 1);
  EXPECT_EQ(FindLimits(plan).cut_s, 32);
  EXPECT_EQ(*OrderBound(plan), 48);
  ASSERT_EQ(OrderByPriority(&plan), absl::OkStatus());
  EXPECT_EQ(plan.summary.makespan_s, 48);
  // Through two, the slow port is what limits.
  plan = TwoToTwo({2, 1, 1, 1}, 2);
  EXPECT_EQ(*OrderBound(plan), 32);
}

TEST(OrderBoundTest, WhatIsReadyLateGoesThroughThePortOneAfterTheOther) {
  NetworkModel network;
  network.num_workers = 4;
  network.seconds_per_byte = 1;
  PlanAssembly assembly(network);
  LayerDraft layer;
  layer.reducers = {{3, 1.0}};
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return 1.0; };
  ASSERT_EQ(assembly.AddMappers({{0, 4, 4, 0, 0}, {1, 4, 4, 0, 10}, {2, 4, 4, 0, 10}}),
            absl::OkStatus());
  ASSERT_EQ(assembly.AddReducers(layer, {}), absl::OkStatus());
  Plan plan = assembly.TakePlan();
  // The two of 4 s that are ready at 10, then 1 s: neither all three from 0 nor any one is as long.
  EXPECT_EQ(*OrderBound(plan), 19);
  ASSERT_EQ(OrderByPriority(&plan), absl::OkStatus());
  EXPECT_EQ(plan.summary.makespan_s, 19);
}

TEST(OrderBoundTest, WithoutAnOrderThereIsNoGap) {
  // 8 B from worker 0 to worker 1, 1 s a byte, paced at half of it by rates and in order.
  NetworkModel network;
  network.num_workers = 2;
  network.seconds_per_byte = 1;
  network.latency_s = 1;
  network.transfer_gap_s = 3;
  network.pacing_fraction = 0.5;
  PlanAssembly assembly(network);
  LayerDraft layer;
  layer.reducers = {{1, 1}};
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return 0.0; };
  EXPECT_EQ(assembly.AddMappers({{0, 8, 8, 0, 0}}), absl::OkStatus());
  EXPECT_EQ(assembly.AddReducers(layer, {}), absl::OkStatus());
  const Plan plan = assembly.TakePlan();
  Plan ordered = plan;
  ASSERT_EQ(OrderByPriority(&ordered), absl::OkStatus());
  EXPECT_EQ(ordered.summary.makespan_s, 3 + 16);
  EXPECT_EQ(*OrderBound(ordered), 3 + 16);
  Plan rated = plan;
  ASSERT_EQ(OrderRestByRates(0, &rated), absl::OkStatus());
  EXPECT_NEAR(rated.summary.makespan_s, 1 + 16, 1e-9);
  EXPECT_EQ(*OrderBound(rated), 1 + 16);
  Plan fetched = plan;
  ASSERT_EQ(OrderFetchAll(&fetched), absl::OkStatus());
  EXPECT_EQ(fetched.summary.makespan_s, 1 + 8);
  EXPECT_EQ(*OrderBound(fetched), 1 + 8);
}

/// Workers 0 to 2, at a quarter of the rate, send 8 B each to worker 3, which a run has found to
/// take twice its time; 1 s a byte at full rate, each transfer at its quarter.
Plan ThreeSlowToOneThatLags() {
  NetworkModel network;
  network.num_workers = 4;
  network.seconds_per_byte = 1;
  network.port_slowdown = {4, 4, 4, 1};
  PlanAssembly assembly(network);
  LayerDraft layer;
  layer.reducers = {{3, 1}};
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return 0.0; };
  EXPECT_EQ(assembly.AddMappers({{0, 8, 8, 0, 0}, {1, 8, 8, 0, 0}, {2, 8, 8, 0, 0}}),
            absl::OkStatus());
  EXPECT_EQ(assembly.AddReducers(layer, {}), absl::OkStatus());
  Plan plan = assembly.TakePlan();
  EXPECT_EQ(OrderRestByRates(0, &plan), absl::OkStatus());
  plan.network.port_lag = {1, 1, 1, 2};
  return plan;
}

TEST(OrderBoundTest, APairOfAPortThatLagsMayNotLag) {
  // Half of the rate is more than a quarter, so none of the three takes longer than 32 s, all at
  // once; by what the receive port itself lags they would take 48 s.
  const Plan plan = ThreeSlowToOneThatLags();
  EXPECT_NEAR(Predict(plan)->makespan_s, 32, 1e-9);
  EXPECT_EQ(*OrderBound(plan), 32);
  EXPECT_EQ(FindLimits(plan).port_s, 32);
  EXPECT_FALSE(FindLimits(plan).port_receives);
}

TEST(OrderBoundTest, NoPredictionByRatesIsBelowItWhereverPortsLag) {
  std::mt19937 random(5);
  for (int run = 0; run < 300; ++run) {
    Plan plan = ThreeSlowToOneThatLags();
    for (std::vector<double>* ports : {&plan.network.port_slowdown, &plan.network.port_lag}) {
      for (double& port : *ports) port = static_cast<double>(1 + random() % 5);
    }
    const NetworkModel& network = plan.network;
    for (Transfer& transfer : plan.transfers) {
      transfer.rate_bytes_per_s = std::min(network.PacedBytesPerS(transfer.sender),
                                           network.PacedBytesPerS(transfer.receiver)) /
                                  static_cast<double>(1 + random() % 3);
    }
    const absl::StatusOr<Prediction> prediction = Predict(plan);
    ASSERT_EQ(prediction.status(), absl::OkStatus());
    const Seconds most_s = prediction->makespan_s * (1 + 1e-9);
    EXPECT_LE(*OrderBound(plan), most_s) << run;
    EXPECT_LE(FindLimits(plan).limit_s, most_s) << run;
  }
}

TEST(OrderBoundTest, BadPlanIsRefused) {
  Plan plan = TwoByTwo(0);
  plan.transfers[0].producer = 99;
  EXPECT_EQ(OrderBound(plan).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(PlanLimitsTest, BusiestOfEachKind) {
  Plan plan = TwoByTwo(1);
  PlanLimits limits = FindLimits(plan);
  EXPECT_EQ(limits.map_s, 3);
  EXPECT_EQ(limits.reduce_s, 1);
  EXPECT_EQ(limits.port_s, 2);
  EXPECT_EQ(limits.cut_s, 4);
  EXPECT_EQ(limits.cut_bytes, 4);
  EXPECT_STREQ(LimitName(limits.limit), "bisection");
  plan.steps[0].duration_s = 9;
  EXPECT_STREQ(LimitName(FindLimits(plan).limit), "map");
  plan.steps[3].duration_s = 10;
  EXPECT_STREQ(LimitName(FindLimits(plan).limit), "reduce");
  plan.network.port_slowdown = {1, 8};
  plan.network.cuts.clear();
  limits = FindLimits(plan);
  EXPECT_STREQ(LimitName(limits.limit), "channel");
  EXPECT_EQ(limits.port_s, 16);
}

// Worker 0 sends 8 B each to worker 1 and to worker 2, whose port is slow; 1 s a byte, paced at
// half of it by rates and in order.
TEST(PlanLimitsTest, WithoutAnOrderPortsAndCutsCarryBytesAlone) {
  NetworkModel network = LimitedTotal(3, 1, 2);
  network.port_slowdown = {1, 1, 2};
  network.latency_s = 1;
  network.transfer_gap_s = 3;
  network.pacing_fraction = 0.5;
  PlanAssembly assembly(network);
  LayerDraft layer;
  layer.reducers = {{1, 0.5}, {2, 0.5}};
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return 0.0; };
  EXPECT_EQ(assembly.AddMappers({{0, 16, 16, 0, 0}}), absl::OkStatus());
  EXPECT_EQ(assembly.AddReducers(layer, {}), absl::OkStatus());
  const Plan plan = assembly.TakePlan();
  Plan ordered = plan;
  ASSERT_EQ(OrderByPriority(&ordered), absl::OkStatus());
  EXPECT_EQ(FindLimits(ordered).port_s, (3 + 16) + (3 + 32));
  EXPECT_EQ(FindLimits(ordered).cut_s, ((3 + 16) + (3 + 32) / 2.0) / 2);
  Plan rated = plan;
  ASSERT_EQ(OrderRestByRates(0, &rated), absl::OkStatus());
  EXPECT_EQ(FindLimits(rated).port_s, 32);
  EXPECT_EQ(FindLimits(rated).cut_s, 16);
  EXPECT_LE(FindLimits(rated).limit_s, rated.summary.makespan_s);
  Plan fetched = plan;
  ASSERT_EQ(OrderFetchAll(&fetched), absl::OkStatus());
  EXPECT_EQ(FindLimits(fetched).port_s, 16);
  EXPECT_EQ(FindLimits(fetched).cut_s, 8);
  EXPECT_LE(FindLimits(fetched).limit_s, fetched.summary.makespan_s);
}

}  // namespace
}  // namespace weir::planner
