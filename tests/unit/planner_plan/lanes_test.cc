// Ports that carry some transfers at a time, solved by hand: five workers, each a mapper and a
// reducer, 1 MB a section, 1 MB/s.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "planner/order/lanes/order_by_lanes.h"
#include "planner/order/order_by_rates.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/plan/predict/rate_room.h"

namespace weir::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Bytes kSectionBytes = 1'000'000;
constexpr double kPortBytesPerS = 1e6;  // bytes per second
constexpr std::int32_t kWorkers = 5;
constexpr Seconds kReduceS = 0.5;

NetworkModel FivePorts(Seconds gap_s = 0.1) {
  NetworkModel network;
  network.num_workers = kWorkers;
  network.seconds_per_byte = 1 / kPortBytesPerS;
  network.latency_s = 0.01;
  network.transfer_gap_s = gap_s;
  return network;
}

/// In rotation: four turns of five transfers. Sections to reducer k have weights[k] parts.
Plan InTurns(NetworkModel network, const std::vector<double>& weights = {1, 1, 1, 1, 1}) {
  PlanAssembly assembly(std::move(network));
  std::vector<MapperDraft> mappers;
  LayerDraft layer;
  std::vector<PieceDraft> pieces;
  double total = 0;
  for (const double weight : weights) total += weight;
  for (std::int32_t w = 0; w < kWorkers; ++w) {
    mappers.push_back({w, kSectionBytes, static_cast<Bytes>(total * kSectionBytes), 0, 1});
    layer.reducers.push_back({w, weights[At(w)] / total});
    for (std::int32_t j = 0; j < kWorkers; ++j) pieces.push_back({j, (j + w) % kWorkers});
  }
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return kReduceS; };
  EXPECT_TRUE(assembly.AddMappers(mappers).ok());
  EXPECT_TRUE(assembly.AddReducers(layer, pieces).ok());
  Plan plan = assembly.TakePlan();
  EXPECT_EQ(OrderByPriority(&plan), absl::OkStatus());
  return plan;
}

Plan Laned(Plan plan, std::int32_t lanes, std::int32_t windows) {
  const absl::StatusOr<std::int32_t> found = OrderByLanes(lanes, &plan);
  EXPECT_EQ(found.status(), absl::OkStatus());
  EXPECT_EQ(found.value_or(0), windows);
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  return plan;
}

TEST(OrderByLanesTest, AGapCostsItsPartOfAPort) {
  const Plan one = InTurns(FivePorts());
  EXPECT_NEAR(one.summary.makespan_s, 1 + 4 * (0.1 + 1) + kReduceS, 1e-9);

  // Two windows of two at half of a port.
  const Plan two = Laned(one, 2, 2);
  EXPECT_EQ(two.transfer_order, TransferOrder::kRates);
  EXPECT_EQ(two.port_lanes, 2);
  EXPECT_NEAR(two.summary.makespan_s, 1 + 2 * (0.1 + 2) + kReduceS, 1e-6);
  for (const Transfer& transfer : two.transfers) {
    EXPECT_NEAR(transfer.rate_bytes_per_s, kPortBytesPerS / 2, 1);
    EXPECT_NEAR(transfer.duration_s, 2.1, 1e-6);
  }

  // Everything at once follows nobody: it needs the latency alone.
  const Plan four = Laned(one, 4, 1);
  EXPECT_EQ(four.port_lanes, 0);
  EXPECT_NEAR(four.summary.makespan_s, 1 + 0.01 + 4 + kReduceS, 1e-6);
}

TEST(OrderByLanesTest, TheLastWindowIsAsLongAsWhatIsLeft) {
  // Three at a third, then one at all of a port: not four thirds of a window longer.
  const Plan three = Laned(InTurns(FivePorts()), 3, 2);
  EXPECT_NEAR(three.summary.makespan_s, 1 + (0.1 + 3) + (0.1 + 1) + kReduceS, 1e-6);
}

TEST(OrderByLanesTest, OneLaneIsTheOrder) {
  const Plan one = InTurns(FivePorts());
  const Plan same = Laned(one, 1, 4);
  EXPECT_EQ(same.transfer_order, TransferOrder::kOvertake);
  EXPECT_EQ(same.send_order, one.send_order);
  EXPECT_EQ(same.summary.makespan_s, one.summary.makespan_s);
  for (std::size_t t = 0; t < one.transfers.size(); ++t) {
    EXPECT_EQ(same.transfers[t].start_s, one.transfers[t].start_s);
    EXPECT_EQ(same.transfers[t].rate_bytes_per_s, 0);
  }
}

TEST(OrderByLanesTest, ACutIsFullInEveryWindow) {
  NetworkModel network = FivePorts();
  network.cuts = LimitedTotal(kWorkers, 1 / kPortBytesPerS, 2).cuts;
  // Twenty transfers through two channels: ten turns, five windows of four.
  const Plan one = InTurns(network);
  EXPECT_NEAR(one.summary.makespan_s, 1 + 10 * 1.1 + kReduceS, 1e-9);
  const Plan two = Laned(one, 2, 5);
  EXPECT_NEAR(two.summary.makespan_s, 1 + 5 * (0.1 + 2) + kReduceS, 1e-6);
}

TEST(OrderByLanesTest, WhatLiesInTwoWindowsIsCutWhereThatIsShorter) {
  // Reducer 0 has twice as much: its sections lie over borders.
  const Plan one = InTurns(FivePorts(0.001), {2, 1, 1, 1, 1});
  const Plan two = Laned(one, 2, 2);
  // No worse than an eighth over what its port needs, and the pieces tile.
  EXPECT_LT(two.summary.makespan_s, 1 + 8 * 1.125 + kReduceS);
  Bytes moved = 0;
  for (const Transfer& transfer : two.transfers) moved += transfer.bytes;
  Bytes planned = 0;
  for (const Transfer& transfer : one.transfers) planned += transfer.bytes;
  EXPECT_EQ(moved, planned);
}

TEST(OrderByLanesTest, RefusesWhatHasNoOrder) {
  Plan plan = InTurns(FivePorts());
  EXPECT_EQ(OrderByLanes(0, &plan).status().code(), absl::StatusCode::kInvalidArgument);
  Plan rated = plan;
  ASSERT_EQ(OrderByRates(&rated), absl::OkStatus());
  EXPECT_EQ(OrderByLanes(2, &rated).status().code(), absl::StatusCode::kInvalidArgument);
  Plan unknown = plan;
  unknown.network.seconds_per_byte = 0;
  EXPECT_EQ(OrderByLanes(2, &unknown).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(OrderByLanesTest, SaysWhenASocketWouldBeTooSlow) {
  NetworkModel network = FivePorts();
  network.seconds_per_byte = 1 / (1.9 * kSlowestRateBytesPerS);
  Plan plan = InTurns(network);
  EXPECT_EQ(OrderByLanes(2, &plan).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(plan.transfer_order, TransferOrder::kOvertake) << "the plan stays as it was";
  EXPECT_THAT(LanesToTry(plan), IsEmpty());
}

/// Twenty transfers through two channels: ten turns.
Plan ThroughTwoChannels(Seconds gap_s) {
  NetworkModel network = FivePorts(gap_s);
  network.cuts = LimitedTotal(kWorkers, 1 / kPortBytesPerS, 2).cuts;
  return InTurns(network);
}

TEST(LanesToTryTest, DoublesUpToAllAtOnce) {
  EXPECT_THAT(LanesToTry(InTurns(FivePorts())), IsEmpty()) << "four are all";
  EXPECT_THAT(LanesToTry(ThroughTwoChannels(0.1)), ElementsAre(4, 8));
}

TEST(BestLanesTest, MustGainMoreTheFewerItsWindowsAre) {
  // Four lanes have three windows and gain seven gaps: they must gain 2.9 %. Eight must gain 3.5 %.
  const auto gains = [](Seconds gap_s) {
    const Plan one = ThroughTwoChannels(gap_s);
    return BestLanes(one, one.summary.makespan_s).has_value();
  };
  EXPECT_TRUE(gains(0.06));   // 0.42 of 12.1 s
  EXPECT_FALSE(gains(0.04));  // 0.28 of 11.9 s, or 0.32
  const Plan one = ThroughTwoChannels(0.04);
  EXPECT_TRUE(BestLanes(one, std::numeric_limits<double>::infinity()).has_value());
}

/// Makespan over what was planned, when each section is up to 10 % larger or smaller; mean of 100.
double LongerWithOtherSizes(const Plan& plan) {
  double sum = 0;
  constexpr int kRuns = 100;
  for (int run = 0; run < kRuns; ++run) {
    Plan real = plan;
    std::mt19937_64 engine(static_cast<std::uint64_t>(run));
    std::vector<double> factors(kWorkers * kWorkers);
    for (double& f : factors) f = std::uniform_real_distribution<double>(0.9, 1.1)(engine);
    for (Transfer& t : real.transfers) {
      const auto section = At(t.sender * kWorkers + t.receiver);
      t.bytes = static_cast<Bytes>(static_cast<double>(t.bytes) * factors[section]);
    }
    sum += Predict(real)->makespan_s / plan.summary.makespan_s - 1;
  }
  return sum / kRuns;
}

TEST(BestLanesTest, SectionsOfAnotherSizeCostMoreTheFewerWindowsThereAre) {
  const Plan one = InTurns(FivePorts(0.001));
  Plan at_once = one;
  ASSERT_EQ(OrderByRates(&at_once), absl::OkStatus());
  const double order = LongerWithOtherSizes(one);
  const double two = LongerWithOtherSizes(Laned(one, 2, 2));
  const double rates = LongerWithOtherSizes(at_once);
  std::cout << "longer with sizes off by up to 10 %: in order " << order << ", two lanes " << two
            << ", by rates " << rates << "\n";
  EXPECT_LT(order, two);
  EXPECT_LT(two, rates);
  // What is asked of lanes is no less than their part of it.
  EXPECT_LT((two - order) / (rates - order), 1 / std::sqrt(2) + 0.05);
}

/// Four transfers out of worker 0, at 0.6, 0.6, 0.3 and 0.3 of its port.
Plan FourFromOne(std::int32_t port_lanes) {
  Plan plan = InTurns(FivePorts());
  EXPECT_EQ(OrderByRates(&plan), absl::OkStatus());
  plan.port_lanes = port_lanes;
  std::size_t next = 0;
  for (Transfer& transfer : plan.transfers) {
    if (transfer.sender == 0) {
      transfer.rate_bytes_per_s = kPortBytesPerS * std::vector<double>{0.6, 0.6, 0.3, 0.3}[next++];
    }
  }
  return plan;
}

std::vector<TransferIndex> FromWorkerZero(const Plan& plan) {
  std::vector<TransferIndex> from_zero;
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    if (plan.transfers[t].sender == 0) from_zero.push_back(static_cast<TransferIndex>(t));
  }
  return from_zero;
}

TEST(RateRoomTest, WithLanesNobodyTakesWhatOneBeforeWaitsFor) {
  const Plan plan = FourFromOne(2);
  const std::vector<TransferIndex> four = FromWorkerZero(plan);
  RateRoom room(plan);
  for (const TransferIndex t : four) room.Wait(t);
  EXPECT_THAT(room.TakeStartable(), ElementsAre(four[0]));
  EXPECT_THAT(room.TakeStartable(), IsEmpty()) << "the second keeps its place before the third";
  room.End(four[0]);
  EXPECT_THAT(room.TakeStartable(), ElementsAre(four[1], four[2]));
  room.End(four[2]);
  EXPECT_THAT(room.TakeStartable(), ElementsAre(four[3]));
}

TEST(RateRoomTest, WithoutLanesWhoFitsBegins) {
  const Plan plan = FourFromOne(0);
  const std::vector<TransferIndex> four = FromWorkerZero(plan);
  RateRoom room(plan);
  for (const TransferIndex t : four) room.Wait(t);
  EXPECT_THAT(room.TakeStartable(), ElementsAre(four[0], four[2]));
}

TEST(RateRoomTest, WhoIsExpectedKeepsItsPlace) {
  // Runs a little late must not let what comes later in the plan fill the ports.
  const Plan plan = FourFromOne(2);
  const std::vector<TransferIndex> four = FromWorkerZero(plan);
  RateRoom room(plan);
  for (const TransferIndex t : four) room.Expect(t);
  room.Wait(four[1]);
  room.Wait(four[2]);
  EXPECT_THAT(room.TakeStartable(), IsEmpty());
  room.Wait(four[0]);
  EXPECT_THAT(room.TakeStartable(), ElementsAre(four[0]));
  room.End(four[0]);
  EXPECT_THAT(room.TakeStartable(), ElementsAre(four[1], four[2]));
  room.End(four[1]);
  room.End(four[2]);
  room.ForgetExpected();
  EXPECT_THAT(room.TakeStartable(), IsEmpty()) << "the last has no run yet";
}

TEST(RateRoomTest, WhoWaitsNoMoreKeepsNoPlace) {
  const Plan plan = FourFromOne(2);
  const std::vector<TransferIndex> four = FromWorkerZero(plan);
  RateRoom room(plan);
  for (const TransferIndex t : four) room.Wait(t);
  EXPECT_THAT(room.TakeStartable(), ElementsAre(four[0]));
  room.Withdraw(four[1]);
  room.Withdraw(four[1]);
  EXPECT_THAT(room.TakeStartable(), ElementsAre(four[2]));
}

TEST(RateRoomTest, WhoMayNotBeginKeepsItsPlace) {
  const Plan plan = FourFromOne(2);
  const std::vector<TransferIndex> four = FromWorkerZero(plan);
  RateRoom room(plan);
  for (const TransferIndex t : four) room.Wait(t);
  EXPECT_THAT(room.TakeStartable([&](TransferIndex t) { return t != four[0]; }), IsEmpty());
  EXPECT_THAT(room.TakeStartable(), ElementsAre(four[0]));
}

TEST(CheckLanesTest, AreOfPlansByRatesAndMoreThanOne) {
  Plan plan = Laned(InTurns(FivePorts()), 2, 2);
  plan.port_lanes = 1;
  EXPECT_THAT(std::string(CheckPlan(plan).message()), HasSubstr("port_lanes 1"));
  plan.port_lanes = -2;
  EXPECT_THAT(std::string(CheckPlan(plan).message()), HasSubstr("port_lanes -2"));
  Plan ordered = InTurns(FivePorts());
  ordered.port_lanes = 2;
  EXPECT_THAT(std::string(CheckPlan(ordered).message()), HasSubstr("port_lanes 2"));
}

TEST(CheckLanesTest, RatesOfTwoWindowsMustFitTogether) {
  Plan plan = Laned(InTurns(FivePorts()), 2, 2);
  const auto late =
      std::max_element(plan.transfers.begin(), plan.transfers.end(),
                       [](const Transfer& a, const Transfer& b) { return a.start_s < b.start_s; });
  late->start_s -= 0.01;
  EXPECT_THAT(std::string(CheckPlan(plan).message()), HasSubstr("add up to"));
}

}  // namespace
}  // namespace weir::planner
