#include "planner/tree/tree_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "planner/instances/tree_drawing.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/tree/circulant.h"
#include "planner/tree/greedy_tree.h"
#include "planner/tree/list_schedule.h"
#include "planner/tree/rabenseifner.h"
#include "planner/tree/reduce_scatter.h"
#include "planner/tree/release_dates.h"
#include "planner/tree/schedule_forms.h"
#include "planner/tree/tree_shapes.h"
#include "planner/tree/unidirectional_greedy.h"

namespace weir::planner::tree {
namespace {

constexpr PortModel kOverlap{true, true, true};
constexpr Bytes kElementBytes = 1 << 20;

// Hand solution (000, Fig. 1): four machines, d = c = 1: makespan 4.
TEST(TreePlan, GreedyTreeOfFourIsPredictedAsItIsPlanned) {
  const Schedule schedule = FromTree("greedy tree", *GreedyTree(4, {1, 1}), {1, 1}, 1);
  const Plan plan =
      *ReductionPlan(schedule, NetworkOf({0, 1, 1}, 4, 1, kElementBytes), kElementBytes);
  EXPECT_TRUE(CheckPlan(plan).ok()) << CheckPlan(plan);
  EXPECT_NEAR(Predict(plan)->makespan_s, 4, 1e-9);
  EXPECT_EQ(plan.transfer_order, TransferOrder::kStrict);
}

TEST(TreePlan, EveryScheduleOfTheOverlapModelKeepsItsMakespan) {
  const LinkCosts costs{0.5, 1, 0.75};
  for (std::int32_t p : {1, 2, 3, 5, 8, 13}) {
    const std::vector<double> units(6, 1.0);
    const auto [first, second] = TwoTreeShapes(p);
    for (const auto& schedule :
         {CirculantSchedule(p, units, costs, kOverlap),
          InterleavedSchedule(p, units, costs, kOverlap),
          RabenseifnerSchedule(p, 6, costs, kOverlap), ReduceScatterSchedule(p, 6, costs, kOverlap),
          ListSchedule("pipeline", {PipelineShape(p)}, units, costs, kOverlap),
          ListSchedule("binary", {BinaryShape(p)}, units, costs, kOverlap),
          ListSchedule("two-tree", {first, second}, units, costs, kOverlap)}) {
      ASSERT_TRUE(schedule.ok());
      // A size that all segment counts divide, so that whole bytes are exact.
      const Bytes bytes = 6 * 16 * 1024;
      const auto plan = ReductionPlan(*schedule, NetworkOf(costs, p, 6, bytes), bytes);
      ASSERT_TRUE(plan.ok()) << schedule->method << " " << plan.status();
      ASSERT_TRUE(CheckPlan(*plan).ok()) << schedule->method << " " << CheckPlan(*plan);
      const double predicted_s = Predict(*plan)->makespan_s;
      // A message of several runs is packed and pays its latency once. Powers of two hold still
      // smaller segments: whole bytes round there.
      ASSERT_NEAR(predicted_s, schedule->makespan_s, 1e-3) << schedule->method << " " << p;
    }
  }
}

TEST(TreePlan, StricterPortsAreATimetable) {
  const LinkCosts costs{1, 1, 1};
  const Schedule schedule = *UnidirectionalGreedySchedule(9, {2, 2, 1}, costs);
  const Plan overlapping = *ReductionPlan(schedule, NetworkOf(costs, 9, 5, 5000), 5000);
  EXPECT_LT(Predict(overlapping)->makespan_s, schedule.makespan_s - 1);
  ReductionOptions options;
  options.ports = {false, false, true};
  const Plan plan = *ReductionPlan(schedule, NetworkOf(costs, 9, 5, 5000), 5000, {}, options);
  ASSERT_TRUE(CheckPlan(plan).ok()) << CheckPlan(plan);
  EXPECT_NEAR(Predict(plan)->makespan_s, schedule.makespan_s, 1e-9);
}

TEST(TreePlan, ReleaseDatesAreStepsThatStartLater) {
  const std::vector<Seconds> ready_s = {0, 0, 3, 5};
  const TimedTree tree = *ReleaseDateTree(ready_s, {1, 1});
  const Schedule schedule = FromTree("reversed greedy", tree, {1, 1}, 1);
  const Plan plan = *ReductionPlan(schedule, NetworkOf({0, 1, 1}, 4, 1, 1000), 1000, ready_s);
  ASSERT_TRUE(CheckPlan(plan).ok()) << CheckPlan(plan);
  EXPECT_NEAR(Predict(plan)->makespan_s, 7, 1e-9);
}

TEST(TreePlan, AllReduceBroadcastsTheResult) {
  const std::vector<Seconds> times = {1, 2, 2, 3};
  const SenderSchedule senders = *SlowestNodeFirst(times);
  const Schedule schedule = FromSenders("slowest-node-first", senders, times, 1);
  Plan plan = *ReductionPlan(schedule, NetworkOf({0, 1, 0}, 5, 1, 1000), 1000);
  const auto result = std::find_if(plan.steps.rbegin(), plan.steps.rend(),
                                   [](const ComputeStep& step) { return step.worker == 0; });
  const auto result_step = static_cast<StepIndex>(plan.steps.rend() - result) - 1;
  const std::vector<WorkerIndex> workers = {1, 2, 3, 4};
  const SpreadSchedule spread = *FastestNodeFirst(1, times);
  ASSERT_TRUE(AppendBroadcast(spread, result_step, workers, 1000, schedule.makespan_s, &plan).ok());
  ASSERT_TRUE(OrderByStart(&plan).ok());
  ASSERT_TRUE(CheckPlan(plan).ok()) << CheckPlan(plan);
  EXPECT_EQ(plan.transfers.size(), 8U);
}

TEST(TreePlan, RefusesWhatDoesNotFit) {
  const Schedule schedule = FromTree("greedy tree", *GreedyTree(4, {1, 1}), {1, 1}, 1);
  EXPECT_FALSE(ReductionPlan(schedule, NetworkOf({0, 1, 1}, 3, 1, 10), 10).ok());
  EXPECT_FALSE(ReductionPlan(schedule, NetworkOf({0, 1, 1}, 4, 1, 10), -1).ok());
  EXPECT_FALSE(ReductionPlan(schedule, NetworkOf({0, 1, 1}, 4, 1, 10), 10, {1}).ok());
}

TEST(TreeDrawing, HasEveryMachineAndEdge) {
  const Schedule schedule = FromTree("greedy tree", *GreedyTree(4, {1, 1}), {1, 1}, 1);
  const std::string svg = TreeSvg(schedule, 0, "four machines <1>");
  EXPECT_NE(svg.find("&lt;1&gt;"), std::string::npos);
  std::size_t circles = 0;
  for (std::size_t at = svg.find("<circle"); at != std::string::npos;
       at = svg.find("<circle", at + 1))
    ++circles;
  EXPECT_EQ(circles, 4U);
  EXPECT_NE(ScheduleSvg(schedule, "gantt").find("machine 3"), std::string::npos);
  EXPECT_FALSE(TreeSvg(*RabenseifnerSchedule(6, 4, {1, 1, 1}, kOverlap), 0, "parts").empty());
}

}  // namespace
}  // namespace weir::planner::tree
