#include "runtime/master/conduct/progress.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "runtime/master/conduct/conductor_machine.h"

namespace weir::master {
namespace {

/// Two maps of 4 s on two workers, one reduce of 1 s; one transfer of 1 s.
class ProgressTest : public ::testing::Test {
 protected:
  ProgressTest() {
    planner::NetworkModel network;
    network.num_workers = 2;
    network.seconds_per_byte = 1e-2;
    planner::PlanAssembly assembly(network);
    absl::Status status = assembly.AddMappers({{0, 1000, 100, 0, 4}, {1, 1000, 100, 0, 4}});
    planner::LayerDraft layer;
    layer.reducers = {{0, 1.0}};
    layer.reduce_seconds = [](planner::WorkerIndex, planner::Bytes) { return 1.0; };
    status.Update(assembly.AddReducers(layer, {}));
    plan_ = assembly.TakePlan();
    status.Update(planner::OrderByPriority(&plan_));
    EXPECT_TRUE(status.ok()) << status;
    prediction_ = *planner::Predict(plan_);
    conductor_.emplace(plan_, prediction_, std::vector<std::string>{"", ""});
    conductor_->Begin(MonoTime());
  }
  v1::JobProgress Measure(std::vector<std::int64_t> bytes, double elapsed_s) {
    return MeasureProgress(plan_, prediction_, conductor_->progress(), bytes, elapsed_s);
  }
  void Done(planner::StepIndex step, std::vector<RunSection> sections, double at_s) {
    ConductorOrders orders;
    ASSERT_TRUE(
        conductor_->StepDone(step, std::move(sections), MonoTime() + absl::Seconds(at_s), orders)
            .ok());
  }
  planner::Plan plan_;
  planner::Prediction prediction_;
  std::optional<ConductorMachine> conductor_;
};

TEST_F(ProgressTest, BeginsWithThePlan) {
  const v1::JobProgress progress = Measure({0, 0, 0}, 0);
  EXPECT_EQ(progress.input_bytes_total(), 2000);
  EXPECT_EQ(progress.input_bytes_done(), 0);
  EXPECT_EQ(progress.shuffle_bytes_total(), 100);
  EXPECT_EQ(progress.steps_total(), 3);
  EXPECT_DOUBLE_EQ(progress.remaining_s(), prediction_.makespan_s);
}

// A job that hangs must not look nearly done because its time has passed.
TEST_F(ProgressTest, TimeAloneIsNoProgress) {
  const v1::JobProgress before = Measure({0, 0, 0}, prediction_.makespan_s / 2);
  EXPECT_EQ(before.done_fraction(), 0);
  EXPECT_DOUBLE_EQ(before.remaining_s(), prediction_.makespan_s / 2);
  const v1::JobProgress after = Measure({0, 0, 0}, prediction_.makespan_s * 2);
  EXPECT_EQ(after.done_fraction(), 0);
  EXPECT_LT(after.remaining_s(), 0) << "unknown";
}

TEST_F(ProgressTest, CountsRunningMapsByTheirBytes) {
  const v1::JobProgress progress = Measure({500, 5000, 0}, 2);
  EXPECT_EQ(progress.input_bytes_done(), 1499)
      << "a step that is not done counts less than it read";
  EXPECT_GT(progress.remaining_s(), 0);
  EXPECT_LT(progress.remaining_s(), prediction_.makespan_s);
}

// A script that sleeps for each line has been given a small input at once.
TEST_F(ProgressTest, WhatIsReadIsNotDone) {
  const v1::JobProgress early = Measure({1000, 1000, 0}, 1);
  EXPECT_LT(early.input_bytes_done(), early.input_bytes_total()) << "it maps";
  EXPECT_NEAR(early.done_fraction(), 0.76, 1e-9) << "0.95 of the maps, which are 8 of 10 s";
  EXPECT_GT(early.remaining_s(), 0);
  const v1::JobProgress late = Measure({1000, 1000, 0}, prediction_.makespan_s * 10);
  EXPECT_LT(late.input_bytes_done(), late.input_bytes_total());
  EXPECT_LT(late.remaining_s(), 0) << "unknown";
  Done(0, {{2, 0, 100, 100}}, 100);
  Done(1, {{2, 0, 100, 100}}, 100);
  const v1::JobProgress mapped = Measure({0, 0, 0}, 100);
  EXPECT_EQ(mapped.input_bytes_done(), mapped.input_bytes_total());
}

TEST_F(ProgressTest, ExperienceCountsTowardsTheEnd) {
  Done(0, {{2, 0, 100, 100}}, 40);
  Done(1, {{2, 0, 100, 100}}, 40);
  // Maps took ten times as long as planned; what is left will as well.
  const double remaining_s = Measure({0, 0, 0}, 40).remaining_s();
  EXPECT_GT(remaining_s, 5);
  EXPECT_LT(remaining_s, 20);
}

TEST_F(ProgressTest, EndsAtZero) {
  Done(0, {{2, 0, 100, 100}}, 4);
  Done(1, {{2, 0, 70, 70}}, 4);
  ConductorOrders orders;
  ASSERT_TRUE(conductor_->TransferDone(0, MonoTime() + absl::Seconds(5), orders).ok());
  Done(2, {}, 6);
  const v1::JobProgress progress = Measure({0, 0, 0}, 6);
  EXPECT_EQ(progress.remaining_s(), 0);
  EXPECT_DOUBLE_EQ(progress.done_fraction(), 1);
  EXPECT_EQ(progress.steps_done(), 3);
  EXPECT_EQ(progress.shuffle_bytes_done(), 70);
  EXPECT_EQ(progress.shuffle_bytes_total(), 70) << "real sizes replace planned ones";
}

}  // namespace
}  // namespace weir::master
