// The conductor by hand: three workers, three maps, one reduce on worker 2.

#include "runtime/master/conduct/conductor_machine.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "planner/job/builders/plan_job.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "tests/unit/base/moment.h"
#include "tests/unit/master/planned_sections.h"

namespace weir::master {
namespace {

using planner::TransferOrder;

/// Maps 0, 1, 2 on workers 0, 1, 2 take 1, 2 and 1 s and make 1000 B each; one reduce on worker 2.
/// Transfers: 0 from worker 0, then 1 from worker 1; 1 ms a byte.
planner::Plan ThreeToOne(TransferOrder order, bool late_first = false) {
  planner::NetworkModel network;
  network.num_workers = 3;
  network.seconds_per_byte = 1e-3;
  planner::PlanAssembly assembly(network);
  const double first_s = late_first ? 2 : 1;
  const double second_s = late_first ? 1 : 2;
  absl::Status status = assembly.AddMappers(
      {{0, 1000, 1000, 0, first_s}, {1, 1000, 1000, 0, second_s}, {2, 1000, 1000, 0, 1}});
  planner::LayerDraft layer;
  layer.reducers = {{2, 1.0}};
  layer.reduce_seconds = [](planner::WorkerIndex, planner::Bytes) { return 1.0; };
  status.Update(assembly.AddReducers(layer, {{0, 0, 1, 1.0}, {1, 0, 1, 2.0}}));
  planner::Plan plan = assembly.TakePlan();
  plan.transfer_order = order;
  status.Update(order == TransferOrder::kFetchAll ? planner::OrderFetchAll(&plan)
                                                  : planner::OrderByStart(&plan));
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(planner::CheckPlan(plan).ok());
  return plan;
}

class ConductorTest : public ::testing::Test {
 protected:
  void Use(planner::Plan plan, std::vector<std::string> domains = {"", "", ""}) {
    plan_ = std::move(plan);
    prediction_ = *planner::Predict(plan_);
    conductor_.emplace(plan_, prediction_, std::move(domains));
  }
  std::vector<std::int32_t> Granted(const ConductorOrders& orders) {
    std::vector<std::int32_t> granted;
    for (const TransferStart& start : orders.transfers) granted.push_back(start.transfer);
    return granted;
  }
  ConductorOrders StepDone(planner::StepIndex step, double at_s, planner::Bytes bytes = 1000) {
    ConductorOrders orders;
    std::vector<RunSection> sections;
    if (step < 3) sections.push_back({3, 32, bytes, bytes});
    EXPECT_TRUE(conductor_->StepDone(step, sections, Moment(at_s), orders).ok());
    return orders;
  }
  ConductorOrders TransferDone(planner::TransferIndex transfer, double at_s) {
    ConductorOrders orders;
    EXPECT_TRUE(conductor_->TransferDone(transfer, Moment(at_s), orders).ok());
    return orders;
  }
  using List = std::vector<std::int32_t>;

  planner::Plan plan_;
  planner::Prediction prediction_;
  std::optional<ConductorMachine> conductor_;
};

TEST_F(ConductorTest, RunsAPlanFromStartToEnd) {
  Use(ThreeToOne(TransferOrder::kOvertake));
  const ConductorOrders begin = conductor_->Begin(Moment(0));
  EXPECT_EQ(begin.steps.size(), 3u);
  EXPECT_EQ(Granted(StepDone(0, 1)), List{0});
  EXPECT_TRUE(StepDone(2, 1).steps.empty());
  // The receive port is taken until 2 s.
  EXPECT_EQ(Granted(StepDone(1, 2)), List{});
  EXPECT_EQ(Granted(TransferDone(0, 2)), List{1});
  const ConductorOrders reduce = TransferDone(1, 3);
  ASSERT_EQ(reduce.steps.size(), 1u);
  ASSERT_EQ(reduce.steps[0].inputs.size(), 3u);
  EXPECT_EQ(reduce.steps[0].inputs[0].producer, 0);
  EXPECT_EQ(reduce.steps[0].inputs[0].place, SectionPlace::kReceived);
  EXPECT_EQ(reduce.steps[0].inputs[2].producer, 2);
  EXPECT_EQ(reduce.steps[0].inputs[2].place, SectionPlace::kOwnRun);
  EXPECT_EQ(reduce.steps[0].inputs[2].offset, 32);
  EXPECT_TRUE(StepDone(3, 4).finished);
  EXPECT_DOUBLE_EQ(conductor_->progress().actual().makespan_s, 4);
  EXPECT_DOUBLE_EQ(conductor_->progress().actual().transfers[1].start_s, 2);
}

TEST_F(ConductorTest, LateTransferIsOvertaken) {
  Use(ThreeToOne(TransferOrder::kOvertake));
  conductor_->Begin(Moment(0));
  // Map 0, whose transfer heads the receiver's order, is not done when map 1 is, at 2 s.
  EXPECT_EQ(Granted(StepDone(1, 2)), List{1});
  EXPECT_EQ(Granted(StepDone(0, 2.5)), List{});
  EXPECT_EQ(Granted(TransferDone(1, 3)), List{0});
}

TEST_F(ConductorTest, TransferThatIsNotLateIsWaitedForUntilItIs) {
  Use(ThreeToOne(TransferOrder::kOvertake, /*late_first=*/true));
  // Planned: transfer 1 (map 1, 1 s), then transfer 0 (map 0, 2 s), by the starts that were wanted.
  ASSERT_EQ(plan_.receive_order[2], (List{0, 1}));
  conductor_->Begin(Moment(0));
  EXPECT_EQ(Granted(StepDone(1, 1)), List{});
  ASSERT_TRUE(conductor_->NextWakeup().has_value());
  EXPECT_GT(*conductor_->NextWakeup(), Moment(2));
  EXPECT_LT(*conductor_->NextWakeup(), Moment(2.1));
  EXPECT_EQ(Granted(conductor_->Wake(Moment(1.9))), List{});
  EXPECT_EQ(Granted(conductor_->Wake(*conductor_->NextWakeup())), List{1});
}

TEST_F(ConductorTest, AheadOfThePlanWhatIsLateIsLateSooner) {
  Use(ThreeToOne(TransferOrder::kOvertake, /*late_first=*/true));
  conductor_->Begin(Moment(0));
  StepDone(2, 0.5);
  EXPECT_EQ(Granted(StepDone(1, 0.5)), List{});
  ASSERT_TRUE(conductor_->NextWakeup().has_value());
  EXPECT_GT(*conductor_->NextWakeup(), Moment(1)) << "map 0, planned for 2 s, is due at 1 s";
  EXPECT_LT(*conductor_->NextWakeup(), Moment(1.1));
  EXPECT_EQ(Granted(conductor_->Wake(*conductor_->NextWakeup())), List{1});
}

TEST_F(ConductorTest, ThePaceIsThatOfTheSlowestStepSoFar) {
  Use(ThreeToOne(TransferOrder::kOvertake, /*late_first=*/true));
  conductor_->Begin(Moment(0));
  StepDone(2, 0.5);
  EXPECT_EQ(Granted(StepDone(1, 1)), List{});
  ASSERT_TRUE(conductor_->NextWakeup().has_value());
  EXPECT_GT(*conductor_->NextWakeup(), Moment(2)) << "one of them took what was planned";
}

TEST_F(ConductorTest, BehindThePlanNothingIsDueLater) {
  Use(ThreeToOne(TransferOrder::kOvertake, /*late_first=*/true));
  conductor_->Begin(Moment(0));
  EXPECT_EQ(Granted(StepDone(1, 2.5)), List{1}) << "map 0 was due at 2 s, and is late";
}

/// Maps 0, 1, 2 on workers 0, 1, 2 take 1 s; reduces on workers 3 and 4 get 500 B of each; one
/// channel for all, 1 ms a byte. Workers 0 and 1 are slow: half a channel, 1 s a transfer.
planner::Plan SlowAndFull() {
  planner::NetworkModel network = planner::LimitedTotal(5, 1e-3, 1);
  network.port_slowdown = {2, 2, 1, 1, 1};
  planner::PlanAssembly assembly(network);
  absl::Status status =
      assembly.AddMappers({{0, 1000, 1000, 0, 1}, {1, 1000, 1000, 0, 1}, {2, 1000, 1000, 0, 1}});
  planner::LayerDraft layer;
  layer.reducers = {{3, 0.5}, {4, 0.5}};
  layer.reduce_seconds = [](planner::WorkerIndex, planner::Bytes) { return 1.0; };
  status.Update(assembly.AddReducers(layer, {{0, 0, 1, 1.0},
                                             {1, 1, 1, 1.0},
                                             {2, 0, 1, 2.0},
                                             {2, 1, 1, 2.5},
                                             {0, 1, 1, 3.0},
                                             {1, 0, 1, 3.0}}));
  planner::Plan plan = assembly.TakePlan();
  status.Update(planner::OrderByStart(&plan));
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(planner::CheckPlan(plan).ok());
  return plan;
}

TEST_F(ConductorTest, SlowTransfersShareAChannelAndAFullOneWaitsForAllOfIt) {
  Use(SlowAndFull(), std::vector<std::string>(5));
  conductor_->Begin(Moment(0));
  List granted;
  for (const planner::StepIndex step : {0, 1, 2}) {
    ConductorOrders orders;
    ASSERT_TRUE(
        conductor_->StepDone(step, {{3, 32, 500, 500}, {4, 532, 500, 500}}, Moment(1), orders)
            .ok());
    for (const std::int32_t transfer : Granted(orders)) granted.push_back(transfer);
  }
  EXPECT_EQ(granted, (List{0, 1}));
  EXPECT_EQ(Granted(TransferDone(0, 2)), List{}) << "half a channel is free";
  EXPECT_EQ(Granted(TransferDone(1, 2)), List{2});
  EXPECT_EQ(Granted(TransferDone(2, 2.5)), List{3});
  EXPECT_EQ(Granted(TransferDone(3, 3)), (List{4, 5}));
}

TEST_F(ConductorTest, StrictPortsNeverOvertake) {
  Use(ThreeToOne(TransferOrder::kStrict));
  conductor_->Begin(Moment(0));
  EXPECT_EQ(Granted(StepDone(1, 2)), List{});
  EXPECT_EQ(Granted(conductor_->Wake(Moment(100))), List{});
  EXPECT_EQ(Granted(StepDone(0, 101)), List{0});
}

TEST_F(ConductorTest, FetchAllGrantsEverythingAtOnce) {
  Use(ThreeToOne(TransferOrder::kFetchAll));
  conductor_->Begin(Moment(0));
  EXPECT_EQ(Granted(StepDone(1, 1)), List{1});
  const ConductorOrders second = StepDone(0, 1);
  EXPECT_EQ(Granted(second), List{0});
  EXPECT_TRUE(second.transfers[0].concurrent);
}

TEST_F(ConductorTest, AFetchLimitHoldsTheRestBackInReceiveOrder) {
  planner::Plan plan = ThreeToOne(TransferOrder::kFetchAll);
  ASSERT_TRUE(planner::OrderFetchAll(&plan, 1).ok());
  Use(std::move(plan));
  conductor_->Begin(Moment(0));
  EXPECT_EQ(Granted(StepDone(1, 1)), List{1});
  EXPECT_EQ(Granted(StepDone(0, 1)), List{});
  EXPECT_EQ(Granted(TransferDone(1, 1.5)), List{0});
}

TEST_F(ConductorTest, HandoverObeysPorts) {
  Use(ThreeToOne(TransferOrder::kOvertake), {"host", "host", "host"});
  conductor_->Begin(Moment(0));
  const ConductorOrders first = StepDone(0, 1);
  ASSERT_EQ(Granted(first), List{0});
  EXPECT_TRUE(first.transfers[0].handover);
  EXPECT_EQ(Granted(StepDone(1, 1)), List{});
  StepDone(2, 1);
  EXPECT_EQ(Granted(TransferDone(0, 1.1)), List{1});
  EXPECT_EQ(TransferDone(1, 1.2).steps.at(0).inputs[0].place, SectionPlace::kHandedOver);
}

TEST_F(ConductorTest, NearlyDoneFreesThePortsButNotTheReduce) {
  Use(ThreeToOne(TransferOrder::kOvertake));
  conductor_->Begin(Moment(0));
  StepDone(0, 1);
  StepDone(2, 1);
  StepDone(1, 1.5);
  ConductorOrders orders;
  ASSERT_TRUE(conductor_->TransferNearlyDone(0, 77, Moment(1.9), orders).ok());
  EXPECT_EQ(Granted(orders), List{1});
  ConductorOrders again;
  ASSERT_TRUE(conductor_->TransferNearlyDone(0, 7, Moment(1.95), again).ok());
  EXPECT_TRUE(again.transfers.empty());
  EXPECT_TRUE(TransferDone(1, 2.9).steps.empty());
  EXPECT_EQ(TransferDone(0, 3).steps.size(), 1u);
  // The trace holds the ports from grant to release, and says what came after.
  EXPECT_DOUBLE_EQ(conductor_->progress().actual().transfers[0].finish_s, 1.9);
  EXPECT_EQ(conductor_->progress().actual().transfer_in_flight_bytes[0], 77);
  EXPECT_DOUBLE_EQ(conductor_->progress().actual().transfers[1].start_s, 1.9);
  EXPECT_EQ(conductor_->progress().actual().transfer_in_flight_bytes[1], 0);
}

TEST_F(ConductorTest, EmptySectionsNeedNoGrant) {
  Use(ThreeToOne(TransferOrder::kOvertake));
  conductor_->Begin(Moment(0));
  EXPECT_EQ(Granted(StepDone(0, 1, 0)), List{});
  EXPECT_EQ(Granted(StepDone(2, 1, 0)), List{});
  const ConductorOrders last = StepDone(1, 2, 0);
  ASSERT_EQ(last.steps.size(), 1u);
  EXPECT_TRUE(last.steps[0].inputs.empty());
  EXPECT_EQ(conductor_->progress().transfers_done(), 2);
}

TEST_F(ConductorTest, GrantsScaleToTheRealSize) {
  Use(ThreeToOne(TransferOrder::kOvertake));
  conductor_->Begin(Moment(0));
  const ConductorOrders orders = StepDone(0, 1, 123);
  ASSERT_EQ(orders.transfers.size(), 1u);
  EXPECT_EQ(orders.transfers[0].offset, 32);
  EXPECT_EQ(orders.transfers[0].bytes, 123);
  EXPECT_EQ(orders.transfers[0].section_bytes, 123);
}

TEST_F(ConductorTest, StaleAndImpossibleReportsChangeNothing) {
  Use(ThreeToOne(TransferOrder::kOvertake));
  conductor_->Begin(Moment(0));
  ConductorOrders orders;
  EXPECT_TRUE(absl::IsAborted(conductor_->StepDone(3, {}, Moment(1), orders)));
  EXPECT_TRUE(absl::IsAborted(conductor_->TransferDone(0, Moment(1), orders)));
  EXPECT_TRUE(absl::IsAborted(conductor_->TransferNearlyDone(0, 0, Moment(1), orders)));
  // Bytes for a step that the plan does not send them to would be lost in silence.
  EXPECT_TRUE(absl::IsInternal(conductor_->StepDone(0, {{2, 0, 10, 10}}, Moment(1), orders)));
  EXPECT_TRUE(conductor_->step_under_way(0));
  EXPECT_EQ(conductor_->progress().steps_done(), 0);
}

TEST_F(ConductorTest, WhatIsReportedTwiceCountsOnce) {
  Use(ThreeToOne(TransferOrder::kOvertake));
  conductor_->Begin(Moment(0));
  StepDone(2, 1);
  EXPECT_EQ(Granted(StepDone(0, 1)), List{0});
  EXPECT_EQ(Granted(StepDone(0, 1.1)), List{});
  EXPECT_EQ(conductor_->progress().steps_done(), 2);
  StepDone(1, 2);
  EXPECT_EQ(Granted(TransferDone(0, 2)), List{1});
  EXPECT_EQ(Granted(TransferDone(0, 2.1)), List{});
  EXPECT_EQ(conductor_->progress().transfers_done(), 1);
  ConductorOrders late;
  EXPECT_TRUE(conductor_->TransferNearlyDone(0, 77, Moment(2.2), late).ok()) << "on its way longer";
  EXPECT_FALSE(conductor_->progress().passed(0));
  EXPECT_EQ(conductor_->progress().actual().transfer_in_flight_bytes[0], 0);
  EXPECT_EQ(TransferDone(1, 3).steps.size(), 1u);
  EXPECT_TRUE(TransferDone(1, 3.1).steps.empty());
  EXPECT_TRUE(StepDone(3, 4).finished);
  EXPECT_FALSE(StepDone(3, 5).finished);
  EXPECT_FALSE(conductor_->Wake(Moment(6)).finished);
  EXPECT_DOUBLE_EQ(conductor_->progress().actual().makespan_s, 4);
}

TEST_F(ConductorTest, OnlyWhatIsUnderWayFailsAndOnlyWhatFailedIsTriedAgain) {
  Use(ThreeToOne(TransferOrder::kOvertake));
  conductor_->Begin(Moment(0));
  ConductorOrders orders;
  EXPECT_TRUE(absl::IsAborted(conductor_->TransferFailed(0, Moment(0.5), orders)));
  EXPECT_EQ(Granted(conductor_->RetryTransfer(0, Moment(0.5))), List{}) << "never tried";
  EXPECT_EQ(Granted(StepDone(0, 1)), List{0});
  EXPECT_EQ(Granted(conductor_->RetryTransfer(0, Moment(1.1))), List{}) << "under way";
  StepDone(1, 2);
  StepDone(2, 2);
  ASSERT_TRUE(conductor_->TransferFailed(0, Moment(2), orders).ok());
  EXPECT_EQ(Granted(orders), List{1}) << "which has its ports now";
  EXPECT_EQ(Granted(conductor_->RetryTransfer(0, Moment(2.1))), List{});
  const ConductorOrders again = TransferDone(1, 3);
  ASSERT_EQ(Granted(again), List{0});
  EXPECT_EQ(again.transfers[0].attempt, 2);
  EXPECT_EQ(TransferDone(0, 4).steps.size(), 1u);
  EXPECT_TRUE(absl::IsAborted(conductor_->TransferFailed(0, Moment(4.1), orders)));
  EXPECT_EQ(Granted(conductor_->RetryTransfer(0, Moment(4.2))), List{}) << "it has arrived";
}

TEST_F(ConductorTest, ARestartEndsWhatAWorkerHasUnderWayAtEitherEnd) {
  for (const planner::WorkerIndex end : {0, 2}) {
    Use(ThreeToOne(TransferOrder::kOvertake));
    conductor_->Begin(Moment(0));
    ASSERT_EQ(Granted(StepDone(0, 1)), List{0});
    EXPECT_EQ(conductor_->WorkerRestarted(1), List{1}) << "its map";
    EXPECT_TRUE(conductor_->transfer_under_way(0));
    EXPECT_TRUE(conductor_->step_under_way(2));
    EXPECT_EQ(conductor_->WorkerRestarted(end), end == 2 ? List{2} : List{});
    EXPECT_FALSE(conductor_->transfer_under_way(0)) << "end " << end;
  }
}

TEST_F(ConductorTest, AttemptsAreCountedAndOrdersCarryThem) {
  Use(ThreeToOne(TransferOrder::kOvertake));
  EXPECT_EQ(conductor_->progress().step_attempt(0), 0) << "not tried yet";
  const ConductorOrders begin = conductor_->Begin(Moment(0));
  EXPECT_EQ(begin.steps.at(0).attempt, 1);
  EXPECT_EQ(conductor_->progress().step_attempt(0), 1);
  const ConductorOrders grant = StepDone(0, 1);
  EXPECT_EQ(grant.transfers.at(0).attempt, 1);
  EXPECT_EQ(conductor_->progress().transfer_attempt(0), 1);
  EXPECT_EQ(conductor_->progress().transfer_attempt(1), 0);
}

TEST_F(ConductorTest, ReleaseTimesAreKept) {
  planner::Plan plan = ThreeToOne(TransferOrder::kOvertake);
  plan.steps[1].release_s = 5;
  Use(std::move(plan));
  EXPECT_EQ(conductor_->Begin(Moment(10)).steps.size(), 2u);
  ASSERT_TRUE(conductor_->NextWakeup().has_value());
  EXPECT_TRUE(conductor_->Wake(Moment(14)).steps.empty());
  EXPECT_EQ(conductor_->Wake(*conductor_->NextWakeup()).steps.size(), 1u);
}

/// One map and one reduce a worker, all with all: runs it to its end, and returns how many events
/// that took.
int RunAllToAll(ConductorMachine& conductor, const planner::Plan& plan) {
  int events = 1;
  double now_s = 0;
  ConductorOrders orders = conductor.Begin(Moment(now_s));
  while (!orders.finished) {
    ConductorOrders next;
    for (const StepStart& start : orders.steps) {
      now_s += 1e-3;
      ++events;
      EXPECT_TRUE(
          conductor.StepDone(start.step, PlannedSections(plan, start.step), Moment(now_s), next)
              .ok());
    }
    for (const TransferStart& start : orders.transfers) {
      now_s += 1e-3;
      ++events;
      EXPECT_TRUE(conductor.TransferDone(start.transfer, Moment(now_s), next).ok());
    }
    if (orders.steps.empty() && orders.transfers.empty()) {
      if (!conductor.NextWakeup()) {
        ADD_FAILURE() << "stuck";
        break;
      }
      ++events;
      now_s = std::max(now_s, absl::ToDoubleSeconds(*conductor.NextWakeup() - Moment(0)));
      next = conductor.Wake(Moment(now_s));
    }
    orders = std::move(next);
  }
  return events;
}

TEST(ConductorAtScale, WorkersAreAskedForStepsWhenSomethingCameForThemAlone) {
  constexpr std::int32_t kWorkers = 40;
  planner::NetworkModel network;
  network.num_workers = kWorkers;
  network.seconds_per_byte = 1e-6;
  planner::JobShape shape;
  shape.input_bytes = kWorkers * kWorkers * 1000;
  shape.map_seconds_per_byte.value = 1e-6;
  shape.map_output_ratio.value = 1;
  planner::LayerShape layer;
  layer.reduce_seconds_per_byte.value = 1e-6;
  shape.layers = {layer};
  planner::ClusterProfile cluster;
  cluster.workers.resize(kWorkers);
  cluster.network = network;
  const absl::StatusOr<planner::Plan> plan =
      planner::PlanJob(shape, cluster, {planner::PlanMethod::kEven});
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->transfers.size(), std::size_t{kWorkers} * (kWorkers - 1));
  const planner::Prediction prediction = *planner::Predict(*plan);
  ConductorMachine conductor(*plan, prediction, std::vector<std::string>(kWorkers));
  const int events = RunAllToAll(conductor, *plan);
  EXPECT_GT(events, kWorkers * kWorkers) << "each transfer is one";
  EXPECT_LE(conductor.looks_for_steps(), 10 * kWorkers) << "whatever the number of events";
}

}  // namespace
}  // namespace weir::master
