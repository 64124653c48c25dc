// The conductor and a store of one channel, by hand.

#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/order/order_store.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "runtime/master/conduct/conductor_machine.h"

namespace weir::master {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr planner::StepIndex kMap = 0, kReduce0 = 1, kReduce1 = 2, kReduce2 = 3, kWrite0 = 4,
                             kWrite1 = 5, kWrite2 = 6;

class ConductorStoreTest : public ::testing::Test {
 protected:
  /// A map that makes nothing; reducers on workers 0, 1, 2 that take 1, 2 and 3 s, stored for 1 s
  /// each through one channel.
  void Use(planner::TransferOrder order) {
    planner::NetworkModel network;
    network.num_workers = 3;
    planner::PlanAssembly assembly(network);
    absl::Status status = assembly.AddMappers({{0, 10, 0, 0, 0}});
    planner::LayerDraft layer;
    layer.reducers = {{0, 0.25}, {1, 0.25}, {2, 0.5}};
    layer.reduce_seconds = [](planner::WorkerIndex w, planner::Bytes) { return 1.0 + w; };
    status.Update(assembly.AddReducers(layer, {}));
    status.Update(assembly.AddStore({{0, 1, 2}, [](planner::Bytes) { return 1.0; }, 0}));
    plan_ = assembly.TakePlan();
    plan_.transfer_order = order;
    status.Update(planner::OrderByPriority(&plan_));
    status.Update(planner::OrderStore(1, &plan_));
    ASSERT_EQ(status, absl::OkStatus());
    ASSERT_EQ(planner::CheckPlan(plan_), absl::OkStatus());
    prediction_ = *planner::Predict(plan_);
    conductor_.emplace(plan_, prediction_, std::vector<std::string>(3));
    EXPECT_THAT(Started(conductor_->Begin(MonoTime())), ElementsAre(kMap));
    EXPECT_THAT(Done(kMap, 0), ElementsAre(kReduce0, kReduce1, kReduce2));
  }
  static std::vector<planner::StepIndex> Started(const ConductorOrders& orders) {
    std::vector<planner::StepIndex> started;
    for (const StepStart& start : orders.steps) started.push_back(start.step);
    return started;
  }
  std::vector<planner::StepIndex> Done(planner::StepIndex step, double at_s) {
    ConductorOrders orders;
    const MonoTime at = MonoTime::FromNanos(static_cast<std::int64_t>(at_s * 1e9));
    EXPECT_EQ(conductor_->StepDone(step, {}, at, orders), absl::OkStatus());
    return Started(orders);
  }

  planner::Plan plan_;
  planner::Prediction prediction_;
  std::optional<ConductorMachine> conductor_;
};

TEST_F(ConductorStoreTest, AReadyWriteOvertakesALateOneAndTheFirstInThePlanComesNext) {
  Use(planner::TransferOrder::kOvertake);
  EXPECT_THAT(Done(kReduce1, 1.5), ElementsAre(kWrite1));
  EXPECT_THAT(Done(kReduce2, 1.6), IsEmpty());
  EXPECT_THAT(Done(kReduce0, 1.7), IsEmpty());
  EXPECT_THAT(Done(kWrite1, 2.5), ElementsAre(kWrite0));
  EXPECT_THAT(Done(kWrite0, 3.5), ElementsAre(kWrite2));
  EXPECT_THAT(Done(kWrite2, 4.5), IsEmpty());
  EXPECT_TRUE(conductor_->progress().finished());
}

TEST_F(ConductorStoreTest, StrictPlansKeepTheOrderOfTheStore) {
  Use(planner::TransferOrder::kStrict);
  EXPECT_THAT(Done(kReduce1, 1.5), IsEmpty());
  EXPECT_THAT(Done(kReduce0, 1.7), ElementsAre(kWrite0));
  EXPECT_THAT(Done(kReduce2, 1.8), IsEmpty());
  EXPECT_THAT(Done(kWrite0, 2.7), ElementsAre(kWrite1));
  EXPECT_THAT(Done(kWrite1, 3.7), ElementsAre(kWrite2));
}

}  // namespace
}  // namespace weir::master
