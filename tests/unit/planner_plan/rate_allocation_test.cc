// Rates over time, solved by hand: three workers, each a mapper and a reducer, 1 MB a section, 1
// MB/s.

#include "planner/plan/predict/rate_allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "planner/order/order_bound.h"
#include "planner/order/order_by_rates.h"
#include "planner/order/plan_assembly.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Bytes kWhole = 1'000'000;
constexpr double kPort = 1e6;  // bytes per second
constexpr Seconds kReducing = 0.5;

MATCHER_P2(HasRate, transfer, rate, "") {
  return arg.transfer == transfer && std::abs(arg.bytes_per_s - rate) <= 1;
}

/// Mapper j, on worker j, is done at ready_s[j] and has one section for each reducer.
Plan Unallocated(std::vector<Seconds> ready_s, std::vector<WorkerIndex> reducers) {
  NetworkModel network;
  network.num_workers = 3;
  network.seconds_per_byte = 1 / kPort;
  PlanAssembly assembly(std::move(network));
  std::vector<MapperDraft> mappers;
  const auto num_reducers = static_cast<Bytes>(reducers.size());
  for (std::size_t m = 0; m < ready_s.size(); ++m) {
    mappers.push_back({static_cast<WorkerIndex>(m), kWhole, num_reducers * kWhole, 0, ready_s[m]});
  }
  EXPECT_TRUE(assembly.AddMappers(mappers).ok());
  LayerDraft layer;
  for (const WorkerIndex worker : reducers) {
    layer.reducers.push_back({worker, 1.0 / static_cast<double>(reducers.size())});
  }
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return kReducing; };
  EXPECT_TRUE(assembly.AddReducers(layer, {}).ok());
  return assembly.TakePlan();
}

Plan OverTime(Plan plan) {
  EXPECT_EQ(OrderByRatesOverTime(&plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_TRUE(plan.rates_over_time);
  return plan;
}

TEST(OrderByRatesOverTimeTest, OneWaveIsAsByConstantRates) {
  Plan constant = Unallocated({1, 1, 1}, {0, 1, 2});
  ASSERT_EQ(OrderByRates(&constant), absl::OkStatus());
  const Plan plan = OverTime(Unallocated({1, 1, 1}, {0, 1, 2}));
  for (std::size_t t = 0; t < plan.transfers.size(); ++t) {
    EXPECT_NEAR(plan.transfers[t].rate_bytes_per_s, constant.transfers[t].rate_bytes_per_s, 1);
    EXPECT_THAT(plan.transfers[t].rate_changes, IsEmpty());
  }
  EXPECT_NEAR(plan.summary.makespan_s, constant.summary.makespan_s, 1e-6);
  EXPECT_NEAR(plan.summary.makespan_s, *OrderBound(plan), 1e-6);
}

TEST(OrderByRatesOverTimeTest, WhoeverIsThereFirstHasThePortUntilOthersCome) {
  // Two mappers send to a third worker. The second one comes when half of the first one has gone:
  // half a section and a whole one share the port as 1 to 2, and end together.
  const Plan plan = OverTime(Unallocated({1, 1.5}, {2}));
  ASSERT_EQ(plan.transfers.size(), 2u);
  EXPECT_NEAR(plan.transfers[0].rate_bytes_per_s, kPort, 1);
  ASSERT_EQ(plan.transfers[0].rate_changes.size(), 1u);
  EXPECT_EQ(plan.transfers[0].rate_changes[0].at_s, 1.5);
  EXPECT_NEAR(plan.transfers[0].rate_changes[0].bytes_per_s, kPort / 3, 1);
  EXPECT_EQ(plan.transfers[1].start_s, 1.5);
  EXPECT_NEAR(plan.transfers[1].rate_bytes_per_s, kPort * 2 / 3, 1);
  for (const Transfer& transfer : plan.transfers) {
    EXPECT_NEAR(transfer.start_s + transfer.duration_s, 3, 1e-6);
  }
  // Constant rates leave the port idle: 1/(E - 1) + 1/(E - 1.5) = 1 at E = 3.28.
  Plan constant = Unallocated({1, 1.5}, {2});
  ASSERT_EQ(OrderByRates(&constant), absl::OkStatus());
  EXPECT_NEAR(constant.summary.makespan_s, 3.2808 + kReducing, 1e-3);
  EXPECT_NEAR(plan.summary.makespan_s, 3 + kReducing, 1e-6);
}

TEST(OrderByRatesOverTimeTest, OnceAllIsThereAllEndTogether) {
  // Sections of worker 0 and 1 to worker 2, and of worker 1 to worker 0, of 1, 1 and 0.2 MB.
  Plan plan = Unallocated({1, 1}, {2, 0});
  // Transfers: 0 to 2, 1 to 2, 1 to 0 (what worker 0 has for itself stays).
  ASSERT_EQ(plan.transfers.size(), 3u);
  for (Section& section : plan.sections) {
    if (section.producer == plan.transfers[2].producer &&
        section.consumer == plan.transfers[2].consumer) {
      section.bytes = kWhole / 5;
    }
  }
  plan.transfers[2].bytes = kWhole / 5;
  ASSERT_EQ(OrderByRatesOverTime(&plan), absl::OkStatus());
  // The port into worker 2 is the busiest: 2 MB. All is there, so the third ends with the others.
  EXPECT_NEAR(plan.transfers[0].rate_bytes_per_s, kPort / 2, 1);
  EXPECT_NEAR(plan.transfers[1].rate_bytes_per_s, kPort / 2, 1);
  EXPECT_NEAR(plan.transfers[2].rate_bytes_per_s, kPort / 10, 1);
  for (const Transfer& transfer : plan.transfers) EXPECT_NEAR(transfer.duration_s, 2, 1e-6);
}

TEST(OrderByRatesOverTimeTest, WhereOthersAreToComeNothingStandsIdle) {
  // The same; worker 2 is a mapper, too, and done at 2: until then the third may have all that the
  // others leave of the port out of worker 1.
  Plan plan = Unallocated({1, 1, 2}, {2, 0});
  ASSERT_EQ(plan.transfers.size(), 4u);
  ASSERT_EQ(plan.transfers[2].sender, 1);
  plan.transfers[2].bytes = kWhole / 5;
  for (Section& section : plan.sections) {
    if (section.producer == plan.transfers[2].producer &&
        section.consumer == plan.transfers[2].consumer) {
      section.bytes = kWhole / 5;
    }
  }
  ASSERT_EQ(OrderByRatesOverTime(&plan), absl::OkStatus());
  EXPECT_NEAR(plan.transfers[2].rate_bytes_per_s, kPort / 2, 1);
  EXPECT_NEAR(plan.transfers[2].duration_s, 0.4, 1e-6);
}

TEST(OrderByRatesOverTimeTest, RefusesWhatNobodyKnows) {
  Plan plan = Unallocated({1, 1}, {2});
  plan.network.seconds_per_byte = 0;
  EXPECT_EQ(OrderByRatesOverTime(&plan).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(CheckPlanTest, AddsUpRatesThatChange) {
  Plan plan = OverTime(Unallocated({1, 1.5}, {2}));
  plan.transfers[0].rate_changes[0].at_s = 1.6;  // later than the other begins
  const absl::Status late = CheckPlan(plan);
  EXPECT_THAT(late.message(), HasSubstr("is planned to last")) << "it moves more than it has";
  plan.transfers[0].duration_s = TransferSeconds(plan, plan.transfers[0], kWhole);
  const absl::Status both = CheckPlan(plan);
  EXPECT_THAT(both.message(), HasSubstr("receive port of worker 2 add up to 1.66667e+06"));
  plan = OverTime(Unallocated({1, 1.5}, {2}));
  plan.transfers[0].rate_changes[0].at_s = 0.5;
  EXPECT_THAT(CheckPlan(plan).message(), HasSubstr("changes its rate at 0.5 s"));
  plan = OverTime(Unallocated({1, 1.5}, {2}));
  plan.rates_over_time = false;
  EXPECT_THAT(CheckPlan(plan).message(), HasSubstr("rates of this plan stay"));
}

TEST(CheckPlanTest, RatesChangeBeforeTheEnd) {
  Plan plan = OverTime(Unallocated({1, 1.5}, {2}));
  Transfer& first = plan.transfers[0];
  first.rate_changes.push_back({first.start_s + first.duration_s + 0.5, kPort / 4});
  EXPECT_THAT(CheckPlan(plan).message(),
              HasSubstr("Transfer 0 changes its rate at 3.5 s, after its end at 3 s"));
}

class RateAllocationTest : public testing::Test {
 protected:
  const Plan plan_ = OverTime(Unallocated({1, 1.5}, {2}));
  RateAllocation allocation_{plan_};
};

TEST_F(RateAllocationTest, OthersBeginOnceALowerRateIsConfirmed) {
  allocation_.Wait(0, kWhole);
  RateAllocation::Turn turn = allocation_.Take(1);
  EXPECT_THAT(turn.begin, ElementsAre(HasRate(0, kPort)));
  allocation_.Wait(1, kWhole);
  turn = allocation_.Take(1.5);
  EXPECT_THAT(turn.change, ElementsAre(HasRate(0, kPort / 3)));
  EXPECT_THAT(turn.begin, IsEmpty()) << "the sender may not know it yet";
  const std::int32_t number = turn.change[0].number;
  allocation_.Confirm(0, number - 1);
  EXPECT_THAT(allocation_.Take(1.51).begin, IsEmpty()) << "of a rate before";
  EXPECT_NEAR(allocation_.Look(0, 1.51)->held_bytes_per_s, kPort, 1);
  allocation_.Confirm(0, number);
  EXPECT_THAT(allocation_.Take(1.52).begin, ElementsAre(HasRate(1, kPort * 2 / 3)));
}

TEST_F(RateAllocationTest, WhatASenderCannotLowerStaysTaken) {
  allocation_.Wait(0, kWhole);
  EXPECT_THAT(allocation_.Take(1).begin, ElementsAre(HasRate(0, kPort)));
  allocation_.Wait(1, kWhole);
  EXPECT_THAT(allocation_.Take(1.5).change, ElementsAre(HasRate(0, kPort / 3)));
  allocation_.Fix(0);
  const RateAllocation::Turn fixed = allocation_.Take(1.51);
  EXPECT_THAT(fixed.begin, IsEmpty());
  EXPECT_THAT(fixed.change, IsEmpty());
  allocation_.End(0);
  EXPECT_THAT(allocation_.Take(2).begin, ElementsAre(HasRate(1, kPort)));
}

TEST_F(RateAllocationTest, AShortRestKeepsItsRate) {
  allocation_.Wait(0, kWhole);
  allocation_.Take(1);
  allocation_.Wait(1, kWhole);
  // 50 ms are left: the other one begins when they are over, since nothing of the port is left.
  const RateAllocation::Turn turn = allocation_.Take(1.95);
  EXPECT_THAT(turn.change, IsEmpty());
  EXPECT_THAT(turn.begin, IsEmpty());
  allocation_.End(0);
  EXPECT_THAT(allocation_.Take(2).begin, ElementsAre(HasRate(1, kPort)));
}

TEST_F(RateAllocationTest, WhoIsExpectedHasItsShareKept) {
  allocation_.Expect(1, kWhole);
  EXPECT_THAT(allocation_.Take(0.98).begin, IsEmpty());
  allocation_.Wait(0, kWhole);
  EXPECT_THAT(allocation_.Take(1).begin, ElementsAre(HasRate(0, kPort / 2)));
  allocation_.Wait(1, kWhole);
  const RateAllocation::Turn turn = allocation_.Take(1.01);
  EXPECT_THAT(turn.change, IsEmpty());
  EXPECT_THAT(turn.begin, ElementsAre(HasRate(1, kPort / 2))) << "without a word to the other";
}

TEST_F(RateAllocationTest, WhoIsExpectedNoMoreLeavesItsShareToOthers) {
  allocation_.Expect(1, kWhole);
  allocation_.Wait(0, kWhole);
  EXPECT_THAT(allocation_.Take(1).begin, ElementsAre(HasRate(0, kPort / 2)));
  allocation_.Unexpect(1);
  EXPECT_THAT(allocation_.Take(1.04).change, ElementsAre(HasRate(0, kPort)));
}

TEST_F(RateAllocationTest, WhatIsOverdueGetsWhatNobodyElseUses) {
  allocation_.Wait(0, kWhole);
  allocation_.Wait(1, kWhole);
  EXPECT_THAT(allocation_.Take(1).begin, ElementsAre(HasRate(0, kPort / 2), HasRate(1, kPort / 2)));
  // Both should have ended at 3. One that is a little late by then ends as it is.
  allocation_.End(0);
  EXPECT_THAT(allocation_.Take(3.005).change, IsEmpty());
  allocation_.Wait(0, kWhole);
  EXPECT_THAT(allocation_.Take(3.02).begin, ElementsAre(HasRate(0, kPort / 2)));
  allocation_.End(0);
  EXPECT_THAT(allocation_.Take(3.03).change, ElementsAre(HasRate(1, kPort)));
}

TEST_F(RateAllocationTest, WhoMayNotBeginGetsNoShare) {
  allocation_.Wait(0, kWhole);
  allocation_.Wait(1, kWhole);
  RateAllocation::Turn turn = allocation_.Take(1, [](TransferIndex t) { return t == 1; });
  EXPECT_THAT(turn.begin, ElementsAre(HasRate(1, kPort)));
  turn = allocation_.Take(1.5);
  EXPECT_THAT(turn.change, ElementsAre(HasRate(1, kPort / 3))) << "it may now";
  allocation_.Withdraw(0);
  turn = allocation_.Take(1.6);
  EXPECT_THAT(turn.begin, IsEmpty());
  EXPECT_THAT(turn.change, ElementsAre(HasRate(1, kPort)));
}

TEST_F(RateAllocationTest, GoesOnWithWhatIsUnderWay) {
  allocation_.Wait(0, kWhole);
  allocation_.Take(1);
  allocation_.Wait(1, kWhole);
  const std::int32_t number = allocation_.Take(1.5).change[0].number;
  const RateAllocation::UnderWay moving = *allocation_.Look(0, 1.5);
  EXPECT_EQ(moving.bytes_left, kWhole / 2);
  RateAllocation after(plan_);
  after.Begin(moving.order, moving.bytes_left, moving.held_bytes_per_s, 1.5);
  after.Wait(1, kWhole);
  EXPECT_THAT(after.Take(1.5).begin, IsEmpty()) << "nobody has confirmed it there, either";
  after.Confirm(0, number);
  EXPECT_THAT(after.Take(1.51).begin, ElementsAre(HasRate(1, kPort * 2 / 3)));
  EXPECT_FALSE(after.Look(7, 1.51).has_value());
}

TEST(RateAllocationSlowestTest, WhereThereIsNotTheSlowestRateForAllTheLastWait) {
  Plan plan = Unallocated({1, 1}, {2});
  plan.network.seconds_per_byte = 1 / (1.9 * kSlowestRateBytesPerS);
  ASSERT_EQ(OrderByRatesOverTime(&plan), absl::OkStatus());
  EXPECT_EQ(plan.transfers[0].start_s, 1);
  EXPECT_NEAR(plan.transfers[0].rate_bytes_per_s, 1.9 * kSlowestRateBytesPerS, 1);
  EXPECT_NEAR(plan.transfers[1].start_s, 1 + plan.transfers[0].duration_s, 1e-6);
}

TEST(RateAllocationSlowestTest, NobodyIsPacedBelowIt) {
  Plan plan = Unallocated({1, 1}, {2});
  plan.network.seconds_per_byte = 1 / (4 * kSlowestRateBytesPerS);
  // By bytes it would be 1 to 99.
  const Plan rated = OverTime(plan);
  RateAllocation by_bytes(rated);
  by_bytes.Wait(0, kWhole / 99);
  by_bytes.Wait(1, kWhole);
  EXPECT_THAT(by_bytes.Take(1).begin, ElementsAre(HasRate(0, kSlowestRateBytesPerS),
                                                  HasRate(1, 3 * kSlowestRateBytesPerS)));
}

}  // namespace
}  // namespace weir::planner
