// A shuffle of a million transfers: builds, checks and predicts within the time limit of the test
// program.

#include <gtest/gtest.h>

#include "planner/job/builders/plan_job.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {
namespace {

JobShape LargeShape() {
  JobShape shape;
  shape.input_bytes = 1'000'000'000'000;
  shape.map_seconds_per_byte.value = 1e-8;
  shape.map_startup_s.value = 0.01;
  shape.map_output_ratio.value = 0.8;
  shape.layers.resize(1);
  shape.layers[0].reduce_seconds_per_byte.value = 1e-8;
  return shape;
}

ClusterProfile LargeCluster(std::int32_t num_workers, std::int32_t channels) {
  ClusterProfile cluster;
  cluster.workers.resize(static_cast<std::size_t>(num_workers));
  cluster.network = LimitedTotal(num_workers, 1e-8, channels);
  return cluster;
}

TEST(LargePlanTest, ThousandByThousandInLimitedTotal) {
  for (const std::int32_t channels : {1000, 50}) {
    const absl::StatusOr<Plan> plan =
        PlanJob(LargeShape(), LargeCluster(1000, channels), PlanningOptions{PlanMethod::kEven});
    ASSERT_EQ(plan.status(), absl::OkStatus());
    EXPECT_EQ(plan->transfers.size(), 999'000u);
    EXPECT_EQ(CheckPlan(*plan), absl::OkStatus());
    EXPECT_DOUBLE_EQ(Predict(*plan)->makespan_s, plan->summary.makespan_s);
    EXPECT_LE(plan->summary.makespan_s, 1.5 * plan->summary.lower_bound_s);
  }
}

TEST(LargePlanTest, FetchAllOfThousandsStaysAboveItsExactTime) {
  // Beyond the exact size events are gathered; all maps end together here, so the exact time is
  // known: every port is busy from then on.
  JobShape shape = LargeShape();
  shape.map_startup_s.value = 0;
  absl::StatusOr<Plan> plan =
      PlanJob(shape, LargeCluster(100, 100), PlanningOptions{PlanMethod::kEven});
  ASSERT_EQ(plan.status(), absl::OkStatus());
  ASSERT_EQ(OrderFetchAll(&*plan), absl::OkStatus());
  const double exact_s = 100 + 0.99 * 8e9 * 1e-8 + 80;
  EXPECT_NEAR(plan->summary.makespan_s, exact_s, 1e-3 * exact_s);
}

}  // namespace
}  // namespace weir::planner
