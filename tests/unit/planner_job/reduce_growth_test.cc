// Reduce steps whose time grows faster than their bytes: durations by hand, the search of loads and
// the bound against every split of a grid.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "planner/job/builders/plan_job.h"
#include "planner/job/job_bound.h"
#include "planner/job/job_drafts.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {
namespace {

constexpr int kGrid = 40;

JobShape ShapeOf(const load::GrowthCurve& growth) {
  JobShape shape;
  shape.input_bytes = 300'000'000;
  shape.map_seconds_per_byte.value = 2e-9;
  shape.map_output_ratio.value = 1;
  LayerShape layer;
  layer.reduce_growth = growth;
  layer.output_ratio.value = 0.1;
  shape.layers = {layer};
  return shape;
}

ClusterProfile ClusterOf(const std::vector<double>& rates) {
  ClusterProfile cluster;
  for (const double rate : rates) {
    cluster.workers.emplace_back();
    cluster.workers.back().compute_rate = rate;
  }
  cluster.network.num_workers = static_cast<std::int32_t>(rates.size());
  cluster.network.seconds_per_byte = 1e-9;
  cluster.network.latency_s = 1e-4;
  return cluster;
}

/// Makespan of the job with these chunks (parts of the input) and load fractions, one mapper and
/// one reducer a worker.
Seconds MakespanOf(const JobShape& shape, const ClusterProfile& cluster,
                   const std::vector<double>& parts, const std::vector<double>& fractions) {
  const auto n = static_cast<std::int32_t>(cluster.workers.size());
  std::vector<Bytes> chunks;
  for (const double part : parts) {
    chunks.push_back(static_cast<Bytes>(part * static_cast<double>(shape.input_bytes)));
  }
  const std::vector<WorkerIndex> workers = WorkersInTurn(n, n);
  PlanAssembly assembly(cluster.network);
  absl::Status status = assembly.AddMappers(*DraftMappers(shape, cluster, chunks, workers));
  status.Update(assembly.AddReducers(
      DraftReducers(shape, 0, chunks.size(), cluster, fractions, workers), RotationPieces(n, n)));
  Plan plan = assembly.TakePlan();
  status.Update(OrderByPriority(&plan));
  status.Update(CheckPlan(plan));
  EXPECT_TRUE(status.ok()) << status;
  return Predict(plan)->makespan_s;
}

/// The least of all splits of a grid, on two workers.
Seconds BestOfGrid(const JobShape& shape, const ClusterProfile& cluster) {
  Seconds best_s = std::numeric_limits<double>::infinity();
  for (int i = 1; i < kGrid; ++i) {
    for (int k = 1; k < kGrid; ++k) {
      const double part = static_cast<double>(i) / kGrid;
      const double fraction = static_cast<double>(k) / kGrid;
      best_s =
          std::min(best_s, MakespanOf(shape, cluster, {part, 1 - part}, {fraction, 1 - fraction}));
    }
  }
  return best_s;
}

TEST(ReduceGrowth, IsInTheDurationsOfAPlan) {
  // Each of two reducers gets half of the bytes; on the second one, twice as fast, it takes half of
  // the time.
  const JobShape shape = ShapeOf({4e-9, 150e6, 1.5});
  const absl::StatusOr<Plan> plan =
      PlanJob(shape, ClusterOf({1, 2}), {.method = PlanMethod::kEven});
  ASSERT_TRUE(plan.ok()) << plan.status();
  std::vector<Seconds> reduces_s;
  for (const ComputeStep& step : plan->steps) {
    if (step.kind == StepKind::kReduce) reduces_s.push_back(step.duration_s);
  }
  ASSERT_EQ(reduces_s.size(), 2U);
  EXPECT_NEAR(reduces_s[0], 0.6, 1e-6);
  EXPECT_NEAR(reduces_s[1], 0.3, 1e-6);
  EXPECT_TRUE(CheckPlan(*plan).ok());
}

TEST(ReduceGrowth, LoadsAreNearTheBestOfAGrid) {
  for (const double exponent : {0.0, 1.0, 1.3, 2.0}) {
    for (const std::vector<double>& rates : {std::vector<double>{1, 1}, {1, 2}, {1, 4}}) {
      // 0: a line, for comparison.
      JobShape shape =
          ShapeOf(exponent > 0 ? load::GrowthCurve{6e-9, 100e6, exponent} : load::GrowthCurve());
      if (exponent == 0) shape.layers[0].reduce_seconds_per_byte.value = 6e-9;
      const ClusterProfile cluster = ClusterOf(rates);
      const Seconds best_s = BestOfGrid(shape, cluster);
      const absl::StatusOr<Plan> plan = PlanJob(shape, cluster, {.method = PlanMethod::kLoad});
      ASSERT_TRUE(plan.ok()) << plan.status();
      const std::string which = std::to_string(exponent) + " " + std::to_string(rates[1]);
      EXPECT_LE(plan->summary.makespan_s, 1.07 * best_s) << which;
      EXPECT_LE(JobLowerBound(shape, cluster), best_s) << which;
      EXPECT_LE(plan->summary.lower_bound_s, plan->summary.makespan_s) << which;
    }
  }
}

// What a line through a small step says of a large one is too little.
TEST(ReduceGrowth, BoundsMoreThanItsSmallSteps) {
  JobShape line = ShapeOf({});
  line.layers[0].reduce_seconds_per_byte.value = 6e-9;
  const JobShape curve = ShapeOf({6e-9, 1e6, 1.3});
  const ClusterProfile cluster = ClusterOf({1, 1});
  EXPECT_GT(JobLowerBound(curve, cluster), 2 * JobLowerBound(line, cluster));
}

TEST(ReduceGrowth, IsRefusedWhereItIsNone) {
  EXPECT_FALSE(PlanJob(ShapeOf({1e-9, 1e6, 0.5}), ClusterOf({1, 1}), {}).ok());
}

}  // namespace
}  // namespace weir::planner
