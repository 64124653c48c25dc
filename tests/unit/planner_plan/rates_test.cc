// Plans by rates, solved by hand: three workers, each a mapper and a reducer, 1 MB a section, 1
// MB/s.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/order/order_bound.h"
#include "planner/order/order_by_rates.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {
namespace {

using ::testing::HasSubstr;

constexpr Bytes kSection = 1'000'000;
constexpr double kChannel = 1e6;  // bytes per second
constexpr Seconds kReduce = 0.5;

NetworkModel ThreePorts() {
  NetworkModel network;
  network.num_workers = 3;
  network.seconds_per_byte = 1 / kChannel;
  return network;
}

/// Mapper j is done at ready_s[j], reducer k lasts reduce_s[k].
Plan Unrated(NetworkModel network, std::vector<Seconds> ready_s = {1, 1, 1},
             std::vector<Seconds> reduce_s = {kReduce, kReduce, kReduce}) {
  PlanAssembly assembly(std::move(network));
  std::vector<MapperDraft> mappers;
  for (std::int32_t w = 0; w < 3; ++w) {
    mappers.push_back({w, kSection, 3 * kSection, 0, ready_s[At(w)]});
  }
  EXPECT_TRUE(assembly.AddMappers(mappers).ok());
  LayerDraft layer;
  layer.reducers = {{0, 1.0 / 3}, {1, 1.0 / 3}, {2, 1.0 / 3}};
  layer.reduce_seconds = [&](WorkerIndex worker, Bytes) { return reduce_s[At(worker)]; };
  EXPECT_TRUE(assembly.AddReducers(layer, {}).ok());
  return assembly.TakePlan();
}

Plan Rated(Plan plan) {
  EXPECT_EQ(OrderByRates(&plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_EQ(plan.transfer_order, TransferOrder::kRates);
  return plan;
}

TEST(OrderByRatesTest, PortsAreSharedUntilAllEnd) {
  const Plan plan = Rated(Unrated(ThreePorts()));
  // Two sections leave and two enter each worker: half of a port each, for two seconds.
  for (const Transfer& transfer : plan.transfers) {
    EXPECT_NEAR(transfer.rate_bytes_per_s, kChannel / 2, 1);
    EXPECT_EQ(transfer.start_s, 1);
    EXPECT_NEAR(transfer.duration_s, 2, 1e-6);
  }
  EXPECT_NEAR(plan.summary.makespan_s, 3 + kReduce, 1e-6);
  EXPECT_NEAR(*OrderBound(plan), 3 + kReduce, 1e-6);
}

TEST(OrderByRatesTest, PacingAndLatencyCount) {
  NetworkModel network = ThreePorts();
  network.pacing_fraction = 0.8;
  network.latency_s = 0.1;
  const Plan plan = Rated(Unrated(network));
  EXPECT_NEAR(plan.transfers[0].rate_bytes_per_s, 0.8 * kChannel / 2, 1);
  EXPECT_NEAR(plan.summary.makespan_s, 1 + 0.1 + 2.5 + kReduce, 1e-6);
}

TEST(OrderByRatesTest, ACutIsSharedByWhatCrossesIt) {
  const Plan plan = Rated(Unrated(LimitedTotal(3, 1 / kChannel, 2)));
  // Six sections through two channels.
  for (const Transfer& transfer : plan.transfers) {
    EXPECT_NEAR(transfer.rate_bytes_per_s, kChannel / 3, 1);
  }
  EXPECT_NEAR(plan.summary.makespan_s, 1 + 3 + kReduce, 1e-6);
}

TEST(OrderByRatesTest, ASlowPortSaysWhenAllEnd) {
  NetworkModel network = ThreePorts();
  network.port_slowdown = {1, 1, 4};
  const Plan plan = Rated(Unrated(network));
  // Two sections through a quarter of a port: eight seconds, and nobody has to be earlier.
  for (const Transfer& transfer : plan.transfers) {
    EXPECT_NEAR(transfer.rate_bytes_per_s, kChannel / 8, 1);
  }
  EXPECT_NEAR(plan.summary.makespan_s, 1 + 8 + kReduce, 1e-6);
}

TEST(OrderByRatesTest, WhatComesLaterIsFasterAndEndsWithTheOthers) {
  // The last mapper's two sections fill its port from 3 s to 5 s; the others have four seconds.
  const Plan plan = Rated(Unrated(ThreePorts(), {1, 1, 3}));
  for (const Transfer& transfer : plan.transfers) {
    EXPECT_NEAR(transfer.rate_bytes_per_s, transfer.sender == 2 ? kChannel / 2 : kChannel / 4, 1);
    EXPECT_NEAR(transfer.start_s + transfer.duration_s, 5, 1e-6);
  }
  EXPECT_NEAR(plan.summary.makespan_s, 5 + kReduce, 1e-6);
}

TEST(OrderByRatesTest, ALongReducerIsServedFirst) {
  const Plan plan = Rated(Unrated(ThreePorts(), {1, 1, 1}, {1, 1, 3}));
  // All reducers end at 1 + E. Worker 2 receives two sections in E - 3 seconds: E = 5.
  EXPECT_NEAR(plan.summary.makespan_s, 6, 1e-6);
  for (const Transfer& transfer : plan.transfers) {
    EXPECT_NEAR(transfer.start_s + transfer.duration_s, transfer.receiver == 2 ? 3 : 5, 1e-6);
  }
}

TEST(OrderByRatesTest, AnEmptySectionIsNotForgotten) {
  Plan plan = Unrated(ThreePorts());
  plan.transfers[0].bytes = 0;
  ASSERT_EQ(OrderByRates(&plan), absl::OkStatus());
  EXPECT_EQ(plan.transfers[0].rate_bytes_per_s, kSlowestRateBytesPerS);
}

TEST(OrderByRatesTest, SaysWhenThereIsNoRoomForSoMany) {
  NetworkModel network = ThreePorts();
  network.seconds_per_byte = 1 / (1.9 * kSlowestRateBytesPerS);
  Plan plan = Unrated(network);
  EXPECT_EQ(OrderByRates(&plan).code(), absl::StatusCode::kFailedPrecondition);
  plan.network.seconds_per_byte = 1 / (2.1 * kSlowestRateBytesPerS);
  EXPECT_EQ(OrderByRates(&plan), absl::OkStatus());
}

TEST(OrderByRatesTest, CutsHaveRoomForTheSlowestOnly) {
  // Six sections cross it, which then move hardly faster.
  for (const double room : {5.9, 6.0 + 1e-6}) {
    Plan plan = Unrated(LimitedTotal(3, 1 / (room * kSlowestRateBytesPerS), 1));
    const absl::Status status = OrderByRates(&plan);
    if (room < 6) {
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(status.message(), HasSubstr("Too many transfers at once into layer 1"));
      continue;
    }
    ASSERT_EQ(status, absl::OkStatus());
    for (const Transfer& transfer : plan.transfers) {
      EXPECT_NEAR(transfer.rate_bytes_per_s, kSlowestRateBytesPerS, 0.1);
    }
  }
}

TEST(OrderByRatesTest, RefusesANetworkOfUnknownRate) {
  Plan plan = Unrated(ThreePorts());
  plan.network.seconds_per_byte = 0;
  EXPECT_EQ(OrderByRates(&plan).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(PredictRatesTest, WhoFindsNoRoomWaitsAndHoldsUpNobody) {
  Plan plan = Rated(Unrated(ThreePorts()));
  // From worker 0: all of its port, to 1 first. What goes to 2 waits for it; others do not.
  for (Transfer& transfer : plan.transfers) {
    if (transfer.sender == 0) transfer.rate_bytes_per_s = kChannel;
  }
  ASSERT_EQ(AdoptPrediction(&plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  std::vector<Seconds> starts;
  for (const Transfer& transfer : plan.transfers) {
    if (transfer.sender != 0) continue;
    starts.push_back(transfer.start_s);
    EXPECT_NEAR(transfer.duration_s, 1, 1e-6);
  }
  ASSERT_EQ(starts.size(), 2u);
  EXPECT_NEAR(starts[0], 1, 1e-6);
  EXPECT_GT(starts[1], 1.9);
}

TEST(PredictRatesTest, APortThatLagsMakesItsTransfersLonger) {
  Plan plan = Rated(Unrated(ThreePorts()));
  plan.network.port_lag = {1, 1, 3};
  ASSERT_EQ(AdoptPrediction(&plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  for (const Transfer& transfer : plan.transfers) {
    const bool lags = transfer.sender == 2 || transfer.receiver == 2;
    EXPECT_NEAR(transfer.duration_s, lags ? 6 : 2, 1e-5);
  }
}

struct Spoiled {
  const char* message;
  void (*apply)(Plan&);
};

void PrintTo(const Spoiled& spoiled, std::ostream* out) { *out << spoiled.message; }

class CheckRatesTest : public ::testing::TestWithParam<Spoiled> {};

TEST_P(CheckRatesTest, IsRefused) {
  Plan plan = Rated(Unrated(LimitedTotal(3, 1 / kChannel, 2)));
  GetParam().apply(plan);
  const absl::Status status = CheckPlan(plan);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

/// Gives a transfer another rate, and the duration that goes with it.
void SetRate(Plan& plan, std::size_t index, double rate) {
  Transfer& transfer = plan.transfers[index];
  transfer.rate_bytes_per_s = rate;
  transfer.duration_s = static_cast<double>(transfer.bytes) / rate;
}

INSTANTIATE_TEST_SUITE_P(
    Rates, CheckRatesTest,
    ::testing::Values(
        Spoiled{"rate out of range: 0 bytes/s",
                [](Plan& p) { p.transfers[3].rate_bytes_per_s = 0; }},
        Spoiled{"rate out of range: -1", [](Plan& p) { p.transfers[3].rate_bytes_per_s = -1; }},
        Spoiled{"at most what its ports carry", [](Plan& p) { SetRate(p, 3, 1.001 * kChannel); }},
        Spoiled{"but the plan has none",
                [](Plan& p) { p.transfer_order = TransferOrder::kFetchAll; }},
        Spoiled{"network whose rate is known", [](Plan& p) { p.network.seconds_per_byte = 0; }},
        Spoiled{"is planned to last", [](Plan& p) { p.transfers[3].rate_bytes_per_s *= 0.99; }},
        Spoiled{"Rates of cut total add up to", [](Plan& p) { SetRate(p, 3, 0.34 * kChannel); }},
        Spoiled{"Rates of the send port of worker",
                [](Plan& p) { SetRate(p, 3, 0.7 * kChannel); }}));

TEST(CheckRatesTimesTest, WhatFollowsAnotherMayTakeItsRate) {
  // One after the other through one port is as well as both at half.
  Plan plan = Rated(Unrated(ThreePorts()));
  for (Transfer& transfer : plan.transfers) {
    transfer.rate_bytes_per_s = kChannel;
    transfer.duration_s = 1;
    transfer.start_s = (transfer.receiver - transfer.sender + 3) % 3;
  }
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  plan.transfers[0].start_s += 0.001;
  EXPECT_THAT(std::string(CheckPlan(plan).message()), HasSubstr("add up to"));
}

}  // namespace
}  // namespace weir::planner
