#include "planner/order/transfer_orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "planner/order/plan_assembly.h"
#include "planner/plan/check_plan.h"
#include "tests/unit/planner_plan/two_by_two.h"

namespace weir::planner {
namespace {

using ::testing::ElementsAre;

Plan WithoutOrders(int channels) {
  Plan plan = TwoByTwo(channels);
  plan.send_order.clear();
  plan.receive_order.clear();
  plan.channel_order.clear();
  plan.summary.makespan_s = 0;
  return plan;
}

TEST(OrderByPriorityTest, FindsTheHandSolvedPlans) {
  for (const int channels : {0, 1}) {
    Plan plan = WithoutOrders(channels);
    ASSERT_EQ(OrderByPriority(&plan), absl::OkStatus());
    EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
    EXPECT_EQ(plan.summary.makespan_s, channels == 0 ? 6 : 7);
    EXPECT_EQ(plan.transfers[1].start_s, channels == 0 ? 3 : 4);
  }
}

TEST(OrderByStartTest, FollowsWantedStartsAndOrdersSteps) {
  Plan plan = WithoutOrders(1);
  plan.compute_order.clear();
  plan.transfers[0].start_s = 5;
  plan.transfers[1].start_s = 3;
  ASSERT_EQ(OrderByStart(&plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_THAT(plan.channel_order, ElementsAre(ElementsAre(ElementsAre(1, 0))));
  EXPECT_THAT(plan.compute_order, ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_EQ(plan.summary.makespan_s, 8);
}

TEST(OrderByStartTest, CrowdedWantedStartsAreStretchedOverTheChannels) {
  // Three senders, three receivers, two channels, all want to start at 0.
  NetworkModel network = LimitedTotal(6, 1, 2);
  PlanAssembly assembly(network);
  ASSERT_TRUE(assembly.AddMappers({{0, 3, 3, 0, 0}, {1, 3, 3, 0, 0}, {2, 3, 3, 0, 0}}).ok());
  LayerDraft layer;
  layer.reducers = {{3, 1.0 / 3}, {4, 1.0 / 3}, {5, 1.0 / 3}};
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return 0.0; };
  ASSERT_TRUE(assembly.AddReducers(layer, {}).ok());
  Plan plan = assembly.TakePlan();
  ASSERT_EQ(OrderByStart(&plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_EQ(plan.channel_order[0].size(), 2u);
  EXPECT_GE(plan.summary.makespan_s, 4.5);
}

TEST(OrderFetchAllTest, SharesByHand) {
  Plan plan = WithoutOrders(1);
  ASSERT_EQ(OrderFetchAll(&plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_NEAR(plan.summary.makespan_s, 7, 1e-9);
  EXPECT_NEAR(plan.transfers[0].duration_s, 3, 1e-9);
}

TEST(TransferOrdersTest, BadPlanIsRefused) {
  Plan plan = WithoutOrders(1);
  plan.transfers[0].receiver = 7;
  EXPECT_EQ(OrderByPriority(&plan).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OrderByStart(&plan).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(OrderFetchAll(&plan).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir::planner
