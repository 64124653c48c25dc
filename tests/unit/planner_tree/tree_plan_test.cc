#include "planner/tree/write/tree_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/instances/tree_drawing.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/tree/choice/operand_order.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/segments/circulant.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/segments/rabenseifner.h"
#include "planner/tree/segments/reduce_scatter.h"
#include "planner/tree/segments/tree_shapes.h"
#include "planner/tree/segments/unidirectional_greedy.h"
#include "planner/tree/single/greedy_tree.h"
#include "planner/tree/single/release_dates.h"
#include "tests/unit/planner_tree/plan_faults.h"
#include "tests/unit/planner_tree/port_models.h"

namespace weir::planner::tree {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
      // A range that wraps around the last segment travels as two transfers, each with its latency.
      const bool wraps = schedule->method == "reduce-scatter and gather";
      ASSERT_LE(predicted_s, schedule->makespan_s + (wraps ? costs.alpha_s * p : 0) + 1e-3)
          << schedule->method << " " << p;
      // A message of several runs is packed and pays its latency once. Powers of two hold still
      // smaller segments: whole bytes round there.
      ASSERT_GE(predicted_s, schedule->makespan_s - 1e-3) << schedule->method << " " << p;
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

// Preorder gives every rank to the root for which some of its subtrees have that many machines; in
// these trees that is every rank.
TEST(TreePlan, OrderIsKeptForAnyRoot) {
  for (std::int64_t n : {1, 2, 3, 6, 11, 16}) {
    for (const ElementCosts& costs : {ElementCosts{1, 1}, ElementCosts{1, 4}, ElementCosts{5, 1}}) {
      const TimedTree tree = *GreedyTree(n, costs);
      for (std::int64_t root = 0; root < n; ++root) {
        const auto placement = PlaceOperands(tree, root);
        ASSERT_TRUE(placement.ok()) << n << " " << root << placement.status();
        Schedule schedule = FromTree("tree", tree, costs, 1);
        RenameMachines({placement->rank.begin(), placement->rank.end()}, schedule);
        ASSERT_EQ(schedule.root, root);
        const LinkCosts link{0, costs.transfer_s, costs.combine_s};
        const auto workers = static_cast<std::int32_t>(n);
        const auto plan = ReductionPlan(schedule, NetworkOf(link, workers, 1, 100), 100);
        ASSERT_TRUE(plan.ok()) << plan.status();
        ASSERT_TRUE(CheckPlan(*plan).ok()) << CheckPlan(*plan);
        EXPECT_EQ(ResultFault(*plan, schedule.root, 100, 1, /*keeps_order=*/true), "");
        EXPECT_NEAR(Predict(*plan)->makespan_s, schedule.makespan_s, 1e-9);
      }
    }
  }
}

// Hand solution: a worker that combines four times slower gets there 3 later; a port at half rate
// makes its transfer 1 longer.
TEST(TreePlan, SlowHostsTakeLonger) {
  const Schedule schedule = FromTree("two", *GreedyTree(2, {1, 1}), {1, 1}, 1);
  NetworkModel network = NetworkOf({0, 1, 1}, 2, 1, 1000);
  ReductionOptions options;
  options.combine_slowdown = {4, 1};
  EXPECT_NEAR(ReductionPlan(schedule, network, 1000, {}, options)->summary.makespan_s, 5, 1e-9);
  network.port_slowdown = {1, 2};
  EXPECT_NEAR(ReductionPlan(schedule, network, 1000, {}, options)->summary.makespan_s, 6, 1e-9);
}

// Hand solution: three elements to one worker, combining 0, and a cut that carries one transfer: 3
// transfers of 1 one after another, where two disjoint pairs would take 2.
TEST(TreePlan, CutsAreKept) {
  Schedule schedule = EmptySchedule("by hand", 4, {1});
  const PortModel ports;
  for (const auto& [from, to] : {std::pair(1, 0), std::pair(3, 2), std::pair(2, 0)}) {
    schedule.messages.push_back(MakeMessage(schedule, {0, 1, 0}, ports, from, to, 0, 1));
  }
  NetworkModel network = NetworkOf({0, 1, 0}, 4, 1, 1000);
  EXPECT_NEAR(ReductionPlan(schedule, network, 1000)->summary.makespan_s, 2, 1e-9);
  network.cuts = LimitedTotal(4, 0, 1).cuts;
  const Plan plan = *ReductionPlan(schedule, network, 1000);
  ASSERT_TRUE(CheckPlan(plan).ok()) << CheckPlan(plan);
  EXPECT_NEAR(plan.summary.makespan_s, 3, 1e-9);
}

// The parts of a reduce-scatter, joined on the root and sent back: every machine ends with all of
// it, also over slow ports and through a cut.
TEST(TreePlan, AllReduceOfSegmentsGivesEverybodyTheResult) {
  constexpr std::int32_t kMachines = 6;
  const Schedule schedule = *ReduceScatterSchedule(kMachines, 12, {1, 1, 1}, kOverlap);
  Plan plan;
  plan.network = NetworkOf({1, 1, 1}, kMachines, 12, 96);
  plan.network.port_slowdown = {1, 2, 1, 3, 1, 1};
  plan.network.cuts = LimitedTotal(kMachines, 0, 2).cuts;
  plan.transfer_order = TransferOrder::kStrict;
  std::vector<StepIndex> elements;
  for (std::int32_t i = 0; i < kMachines; ++i) {
    ComputeStep step;
    step.index_in_layer = step.worker = i;
    step.output_bytes = 96;
    plan.steps.push_back(step);
    plan.compute_order.push_back({i});
    elements.push_back(i);
  }
  ReductionOptions options;
  options.place_bytes = 8;
  options.join_result = true;
  const auto results = AppendReduction(schedule, elements, 96, 0, &plan, options);
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 1U);
  const SpreadSchedule spread = *FastestNodeFirst(1, {2, 1, 3, 1, 1});
  const auto received =
      AppendBroadcast(spread, results->front(), {1, 2, 3, 4, 5}, 96, 1000, &plan, 8);
  ASSERT_TRUE(received.ok()) << received.status();
  ASSERT_TRUE(OrderByStart(&plan).ok());
  ASSERT_TRUE(CheckPlan(plan).ok()) << CheckPlan(plan);
  const auto values = ExecutePlan<std::int64_t>(
      plan, 12, 8, [](const ComputeStep& step) { return std::int64_t{1} << (8 * step.worker); },
      std::plus<>());
  ASSERT_TRUE(values.ok()) << values.status();
  for (const StepIndex step : *received) {
    for (const auto& value : values->of_step[static_cast<std::size_t>(step)]) {
      EXPECT_EQ(value, 0x010101010101) << "step " << step;
    }
  }
}

TEST(TreePlan, CombineStepsAreNumberedOnOrFromAGivenNumber) {
  const Schedule schedule = FromTree("greedy tree", *GreedyTree(3, {1, 1}), {1, 1}, 1);
  const Plan before = *ReductionPlan(schedule, NetworkOf({0, 1, 1}, 3, 1, 10), 10);
  const SpreadSchedule spread = *FastestNodeFirst(1, {1, 1});
  const auto numbers_of = [&](std::optional<std::int32_t> first_number) {
    Plan plan = before;
    ReductionOptions options;
    options.first_number = first_number;
    EXPECT_TRUE(AppendReduction(schedule, {0, 1, 2}, 10, 0, &plan, options).ok());
    EXPECT_TRUE(AppendBroadcast(spread, 0, {1, 2}, 10, 0, &plan, 1, {}, first_number).ok());
    std::vector<std::int32_t> numbers;
    for (std::size_t s = before.steps.size(); s < plan.steps.size(); ++s) {
      numbers.push_back(plan.steps[s].index_in_layer);
    }
    return numbers;
  };
  ASSERT_EQ(before.steps.size(), 5u);
  EXPECT_THAT(numbers_of(std::nullopt), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(numbers_of(7), ElementsAre(7, 8, 7, 8));
}

TEST(TreePlan, RefusesWhatDoesNotFit) {
  const Schedule schedule = FromTree("greedy tree", *GreedyTree(4, {1, 1}), {1, 1}, 1);
  const NetworkModel network = NetworkOf({0, 1, 1}, 4, 1, 10);
  const auto refusal = [&](const Schedule& given, ReductionOptions options, Bytes bytes = 10) {
    return std::string(ReductionPlan(given, network, bytes, {}, options).status().message());
  };
  EXPECT_FALSE(ReductionPlan(schedule, NetworkOf({0, 1, 1}, 3, 1, 10), 10).ok());
  EXPECT_FALSE(ReductionPlan(schedule, network, 10, {1}).ok());
  EXPECT_THAT(refusal(schedule, {}, -1), HasSubstr("element_bytes is -1"));
  EXPECT_THAT(refusal(schedule, {}, Bytes{1} << 62), HasSubstr("element_bytes is 46116860"));
  ReductionOptions options;
  options.place_bytes = 8;
  EXPECT_THAT(refusal(schedule, options), HasSubstr("a multiple of place_bytes, 8"));
  options.place_bytes = 0;
  EXPECT_THAT(refusal(schedule, options), HasSubstr("place_bytes is 0"));
  options = {};
  options.combine_slowdown = {1, 1, 0, 1};
  EXPECT_THAT(refusal(schedule, options), HasSubstr("combine_slowdown[2] is 0"));
  options.combine_slowdown = {1};
  EXPECT_THAT(refusal(schedule, options), HasSubstr("combine_slowdown has 1 entries"));
  Schedule wrong = schedule;
  wrong.messages.pop_back();
  EXPECT_THAT(refusal(wrong, {}), HasSubstr("of 4 operands of segment 0"));
  wrong = schedule;
  wrong.messages.push_back(wrong.messages.front());
  EXPECT_THAT(refusal(wrong, {}), HasSubstr("which does not hold it"));
  wrong = schedule;
  wrong.messages.front().receiver = 4;
  EXPECT_THAT(refusal(wrong, {}), HasSubstr("does not fit 4 machines"));
}

TEST(TreePlan, RefusesBroadcastsThatDoNotFit) {
  const SpreadSchedule spread = *FastestNodeFirst(1, {1, 2});
  Plan plan = *ReductionPlan(FromTree("tree", *GreedyTree(3, {1, 1}), {1, 1}, 1),
                             NetworkOf({0, 1, 1}, 3, 1, 10), 10);
  const auto refusal = [&](const SpreadSchedule& given, StepIndex result,
                           std::vector<WorkerIndex> workers) {
    return std::string(AppendBroadcast(given, result, workers, 10, 0, &plan).status().message());
  };
  EXPECT_THAT(refusal(spread, 0, {1}), HasSubstr("workers has 1 entries"));
  EXPECT_THAT(refusal(spread, 99, {1, 2}), HasSubstr("result is step 99"));
  EXPECT_THAT(refusal(spread, 0, {0, 2}), HasSubstr("workers names worker 0"));
  SpreadSchedule wrong = spread;
  wrong.sender = {1, kNoMachine};
  EXPECT_THAT(refusal(wrong, 0, {1, 2}), HasSubstr("not informed yet"));
}

// An element without bytes still needs its operands: every message is sent.
TEST(TreePlan, EmptyElementsAreReduced) {
  const Schedule schedule = *CirculantSchedule(5, {1, 1, 1}, {1, 1, 1}, kOverlap);
  const Plan plan = *ReductionPlan(schedule, NetworkOf({1, 1, 1}, 5, 3, 0), 0);
  ASSERT_TRUE(CheckPlan(plan).ok()) << CheckPlan(plan);
  EXPECT_EQ(plan.transfers.size(), schedule.messages.size());
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
