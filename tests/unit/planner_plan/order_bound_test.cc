#include "planner/plan/order_bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/plan/plan_limits.h"
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

}  // namespace
}  // namespace weir::planner
