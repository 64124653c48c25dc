#include "planner/plan/predict/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "planner/plan/plan_times.h"
#include "tests/unit/planner_plan/two_by_two.h"

namespace weir::planner {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::vector<std::pair<double, double>> Times(const std::vector<Interval>& intervals) {
  std::vector<std::pair<double, double>> times;
  for (const Interval& interval : intervals) times.push_back({interval.start_s, interval.finish_s});
  return times;
}

std::vector<std::pair<bool, int>> Path(const Prediction& prediction) {
  std::vector<std::pair<bool, int>> path;
  for (const auto& item : prediction.critical_path) path.push_back({item.is_transfer, item.index});
  return path;
}

TEST(PredictTest, OneChannelByHand) {
  Plan plan = TwoByTwo(1);
  for (Transfer& transfer : plan.transfers) transfer.start_s = 99;  // planned times do not count
  const absl::StatusOr<Prediction> prediction = Predict(plan);
  ASSERT_EQ(prediction.status(), absl::OkStatus());
  EXPECT_EQ(prediction->makespan_s, 7);
  EXPECT_THAT(Times(prediction->steps),
              ElementsAre(Pair(0, 2), Pair(0, 3), Pair(6, 7), Pair(4, 5)));
  EXPECT_THAT(Times(prediction->transfers), ElementsAre(Pair(2, 4), Pair(4, 6)));
  EXPECT_THAT(Path(*prediction),
              ElementsAre(Pair(false, 0), Pair(true, 0), Pair(true, 1), Pair(false, 2)));
  EXPECT_THAT(prediction->idle_s, ElementsAre(0, 1));
}

TEST(PredictTest, NoCutByHand) {
  const absl::StatusOr<Prediction> prediction = Predict(TwoByTwo(0));
  ASSERT_EQ(prediction.status(), absl::OkStatus());
  EXPECT_EQ(prediction->makespan_s, 6);
  EXPECT_THAT(Times(prediction->transfers), ElementsAre(Pair(2, 4), Pair(3, 5)));
  EXPECT_THAT(Path(*prediction), ElementsAre(Pair(false, 1), Pair(true, 1), Pair(false, 2)));
}

TEST(PredictTest, FetchAllSharesTheCutByHand) {
  Plan plan = TwoByTwo(1);
  plan.transfer_order = TransferOrder::kFetchAll;
  const absl::StatusOr<Prediction> prediction = Predict(plan);
  ASSERT_EQ(prediction.status(), absl::OkStatus());
  EXPECT_THAT(prediction->makespan_s, DoubleNear(7, 1e-9));
  EXPECT_THAT(prediction->transfers[0].finish_s, DoubleNear(5, 1e-9));
  EXPECT_THAT(prediction->transfers[1].finish_s, DoubleNear(6, 1e-9));
  EXPECT_THAT(Path(*prediction), ElementsAre(Pair(false, 1), Pair(true, 1), Pair(false, 2)));
}

TEST(PredictTest, LatencyAndSlowPortCount) {
  Plan plan = TwoByTwo(0);
  plan.network.latency_s = 0.25;
  plan.network.port_slowdown = {1, 3};
  EXPECT_EQ(Predict(plan)->makespan_s, 3 + 0.25 + 6 + 1);
  plan.transfer_order = TransferOrder::kFetchAll;
  EXPECT_THAT(Predict(plan)->makespan_s, DoubleNear(3 + 0.25 + 6 + 1, 1e-9));
}

TEST(PredictTest, FreeNetworkTakesNoTime) {
  Plan plan = TwoByTwo(0);
  plan.network.seconds_per_byte = 0;
  EXPECT_EQ(Predict(plan)->makespan_s, 4);
  plan.transfer_order = TransferOrder::kFetchAll;
  EXPECT_EQ(Predict(plan)->makespan_s, 4);
}

TEST(PredictTest, ReleaseDateHoldsAStepAndEndsThePath) {
  Plan plan = TwoByTwo(0);
  plan.steps[2].release_s = 20;
  const absl::StatusOr<Prediction> prediction = Predict(plan);
  EXPECT_EQ(prediction->makespan_s, 21);
  EXPECT_THAT(Path(*prediction), ElementsAre(Pair(false, 2)));
}

// One worker: a map step of 5 s and, of an order of their own, two combine steps of 2 s.
Plan MapAndCombineSteps(std::vector<StepIndex> order) {
  Plan plan;
  plan.network.num_workers = 1;
  ComputeStep map;
  map.duration_s = 5;
  ComputeStep combine;
  combine.kind = StepKind::kCombine;
  combine.duration_s = 2;
  plan.steps = {map, combine, combine};
  plan.compute_order = {std::move(order)};
  plan.send_order.resize(1);
  plan.receive_order.resize(1);
  return plan;
}

TEST(PredictTest, AWorkerRunsOneStepAtATimeInTheOrderOfItsListWhereBothAreReady) {
  EXPECT_THAT(Times(Predict(MapAndCombineSteps({0, 1, 2}))->steps),
              ElementsAre(Pair(0, 5), Pair(5, 7), Pair(7, 9)));
  EXPECT_THAT(Times(Predict(MapAndCombineSteps({1, 0, 2}))->steps),
              ElementsAre(Pair(2, 7), Pair(0, 2), Pair(7, 9)));
}

TEST(PredictTest, CombineStepsDoNotWaitForOthersThatAreNotReady) {
  Plan plan = MapAndCombineSteps({0, 1, 2});
  plan.steps[0].release_s = 3;
  const absl::StatusOr<Prediction> prediction = Predict(plan);
  EXPECT_THAT(Times(prediction->steps), ElementsAre(Pair(4, 9), Pair(0, 2), Pair(2, 4)));
  EXPECT_THAT(Path(*prediction), ElementsAre(Pair(false, 1), Pair(false, 2), Pair(false, 0)))
      << "who waited for a turn goes on with whose turn it was";
}

TEST(PredictTest, CheckPlanRefusesStepsBesideEachOther) {
  Plan plan = MapAndCombineSteps({0, 1, 2});
  plan.steps[2].start_s = 2;
  plan.summary.makespan_s = 5;
  EXPECT_THAT(CheckTimes(plan).message(), HasSubstr("One step at a time is broken"));
  plan.steps[1].start_s = 5;
  plan.steps[2].start_s = 7;
  plan.summary.makespan_s = 9;
  EXPECT_EQ(CheckTimes(plan), absl::OkStatus());
}

TEST(PredictTest, CycleAndBadIndexAreRefused) {
  Plan plan = TwoByTwo(1);
  std::swap(plan.compute_order[0][0], plan.compute_order[0][1]);
  EXPECT_EQ(Predict(plan).status().code(), absl::StatusCode::kInvalidArgument);
  plan = TwoByTwo(1);
  plan.send_order[0] = {17};
  EXPECT_EQ(Predict(plan).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir::planner
