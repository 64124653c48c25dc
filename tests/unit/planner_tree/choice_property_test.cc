// Random problems for selection, random trees for operand order, random schedules as plans.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/tree/choice/operand_order.h"
#include "planner/tree/choice/schedule_forms.h"
#include "planner/tree/choice/selection.h"
#include "planner/tree/model/tree_timing.h"
#include "planner/tree/segments/circulant.h"
#include "planner/tree/segments/list_schedule.h"
#include "planner/tree/segments/tree_shapes.h"
#include "planner/tree/write/tree_plan.h"
#include "tests/unit/planner_tree/random_instances.h"
#include "tests/unit/planner_tree/schedule_validator.h"

namespace weir::planner::tree {
namespace {

ReductionProblem RandomProblem(std::mt19937_64& random) {
  ReductionProblem problem;
  problem.num_machines = static_cast<std::int32_t>(1 + random() % 9);
  problem.element_units = static_cast<double>(1 + random() % 60);
  problem.costs = {static_cast<double>(random() % 12), 1, static_cast<double>(random() % 3)};
  problem.ports = {random() % 2 == 0, random() % 2 == 0, true};
  problem.max_segments = 8;
  const auto p = static_cast<std::uint64_t>(problem.num_machines);
  problem.root = static_cast<MachineIndex>(random() % p);
  problem.commutative = random() % 4 != 0;
  if (random() % 4 == 0) {
    for (std::uint64_t i = 0; i < p; ++i)
      problem.slowdown.push_back(static_cast<double>(1 + random() % 3));
  }
  if (random() % 4 == 0) {
    for (std::uint64_t i = 0; i < p; ++i)
      problem.ready_s.push_back(static_cast<double>(random() % 40));
  }
  return problem;
}

TEST(ChoiceProperty, WinnersAreValidAndShortest) {
  std::mt19937_64 random(83);
  int in_order = 0;
  for (int k = 0; k < kRandomInstances; ++k) {
    const ReductionProblem problem = RandomProblem(random);
    const auto choice = ChooseReduction(problem);
    if (!choice.ok()) {
      ASSERT_EQ(choice.status().code(), absl::StatusCode::kFailedPrecondition) << choice.status();
      ASSERT_FALSE(problem.commutative);
      continue;
    }
    // Release dates may only delay, and then any machine may be the root.
    if (problem.ready_s.empty()) {
      ASSERT_EQ(choice->schedule.root, problem.root);
      ASSERT_EQ(ScheduleFault(choice->schedule, problem.ports), "") << choice->schedule.method;
    }
    for (const Message& m : choice->schedule.messages) {
      if (problem.ready_s.empty()) break;
      ASSERT_GE(m.start_s, std::max(problem.ready_s[m.sender], problem.ready_s[m.receiver]) - 1e-9);
    }
    if (!problem.commutative) {
      ASSERT_TRUE(CheckOrderPreserved(choice->schedule).ok()) << choice->schedule.method;
      ++in_order;
    }
    double before = 0;
    for (const ReductionCandidate& candidate : choice->candidates) {
      if (!candidate.refusal.empty()) break;
      ASSERT_GE(candidate.length_s, before);
      before = candidate.length_s;
    }
    ASSERT_EQ(choice->candidates[0].length_s, choice->schedule.makespan_s);
  }
  // Those that commute are never refused; of the others, one in four, some must not be.
  EXPECT_GT(in_order, kRandomInstances / 100);
}

TEST(ChoiceProperty, AnyTreeKeepsTheOrderOfItsOperands) {
  std::mt19937_64 random(89);
  int placed = 0;
  for (int k = 0; k < kRandomInstances; ++k) {
    const auto n = 1 + random() % 30;
    std::vector<MachineIndex> receiver = {kNoMachine};
    for (std::uint64_t i = 1; i < n; ++i)
      receiver.push_back(static_cast<MachineIndex>(random() % i));
    const ElementCosts costs{static_cast<double>(1 + random() % 4),
                             static_cast<double>(random() % 4)};
    const TimedTree tree = *TimeTree(receiver, costs);
    const auto root_rank = static_cast<std::int64_t>(random() % n);
    const auto placement = PlaceOperands(tree, root_rank);
    if (!placement.ok()) {
      ASSERT_EQ(placement.status().code(), absl::StatusCode::kFailedPrecondition);
      ASSERT_NE(root_rank, 0) << "any tree may have the least one at its root";
      continue;
    }
    ++placed;
    Schedule schedule = FromTree("tree", tree, costs, 1);
    RenameMachines({placement->rank.begin(), placement->rank.end()}, schedule);
    ASSERT_TRUE(CheckOrderPreserved(schedule).ok()) << CheckOrderPreserved(schedule);
  }
  EXPECT_GT(placed, kRandomInstances / 10);
}

TEST(ChoiceProperty, RandomSchedulesAreFeasiblePlans) {
  std::mt19937_64 random(97);
  for (int k = 0; k < kRandomInstances; ++k) {
    const auto p = static_cast<std::int32_t>(1 + random() % 8);
    const auto q = static_cast<std::int32_t>(1 + random() % 5);
    const LinkCosts costs{static_cast<double>(random() % 3), 1, static_cast<double>(random() % 3)};
    const std::vector<double> units(static_cast<std::size_t>(q), 1.0);
    const PortModel overlap{true, true, true};
    const auto [first, second] = TwoTreeShapes(p);
    auto schedule = k % 3 == 0   ? CirculantSchedule(p, units, costs, overlap)
                    : k % 3 == 1 ? InterleavedSchedule(p, units, costs, overlap)
                                 : ListSchedule("two-tree", {first, second}, units, costs, overlap);
    const Bytes bytes = Bytes{q} * 1000;
    const auto plan = ReductionPlan(*schedule, NetworkOf(costs, p, q, bytes), bytes);
    ASSERT_TRUE(plan.ok()) << plan.status();
    ASSERT_TRUE(CheckPlan(*plan).ok()) << CheckPlan(*plan);
    ASSERT_NEAR(Predict(*plan)->makespan_s, schedule->makespan_s, 1e-6);
  }
}

}  // namespace
}  // namespace weir::planner::tree
