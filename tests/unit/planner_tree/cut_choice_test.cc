// Choosing under cuts: the winner's times are those of its plan on the network with the cuts, and
// nothing that is chosen without them is shorter there.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "absl/strings/match.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/tree/choice/operand_order.h"
#include "planner/tree/choice/selection.h"
#include "planner/tree/choice/spreading.h"
#include "planner/tree/write/spreading_plan.h"
#include "planner/tree/write/tree_plan.h"
#include "tests/unit/planner_tree/rack_networks.h"
#include "tests/unit/planner_tree/schedule_validator.h"

namespace weir::planner::tree {
namespace {

ReductionProblem ProblemOn(const NetworkModel& network, double units, LinkCosts costs) {
  ReductionProblem problem;
  problem.num_machines = network.num_workers;
  problem.element_units = units;
  problem.costs = costs;
  problem.cuts = network.cuts;
  return problem;
}

// The network on which a unit is a byte.
NetworkModel WithCosts(NetworkModel network, const LinkCosts& costs) {
  network.latency_s = costs.alpha_s;
  network.seconds_per_byte = costs.beta_s_per_unit;
  return network;
}

Seconds Predicted(const Schedule& schedule, const NetworkModel& network, Bytes bytes) {
  const absl::StatusOr<Plan> plan = ReductionPlan(schedule, network, bytes);
  EXPECT_TRUE(plan.ok()) << plan.status();
  if (!plan.ok()) return 0;
  EXPECT_EQ(CheckPlan(*plan), absl::OkStatus()) << schedule.method;
  const absl::StatusOr<Prediction> prediction = Predict(*plan);
  EXPECT_TRUE(prediction.ok()) << prediction.status();
  return prediction.ok() ? prediction->makespan_s : 0;
}

TEST(CutChoice, TheWinnerIsPredictedAsChosenAndBeatsTheBlindChoice) {
  bool a_rack_schedule_won = false;
  for (const std::vector<std::int32_t>& sizes : std::vector<std::vector<std::int32_t>>{
           {4, 4, 4, 4}, {8, 8}, {3, 5, 2}, {2, 2, 2, 2, 2, 2}}) {
    for (const Bytes bytes : {Bytes{960}, Bytes{96'000}, Bytes{9'600'000}}) {
      for (const double gamma : {1e-9, 8e-9}) {
        const LinkCosts costs{4e-5, 8e-9, gamma};
        const NetworkModel network = WithCosts(RackNetwork(sizes, 1), costs);
        const ReductionProblem problem = ProblemOn(network, static_cast<double>(bytes), costs);
        const auto choice = ChooseReduction(problem);
        ASSERT_TRUE(choice.ok()) << choice.status();
        SCOPED_TRACE(choice->schedule.method + " " + std::to_string(bytes));
        EXPECT_EQ(ScheduleFault(choice->schedule, problem.ports, 1e-9), "");
        EXPECT_EQ(LaneFault(choice->schedule, network, 1e-10), "");
        const Seconds length_s = choice->schedule.makespan_s;
        EXPECT_EQ(length_s, choice->candidates.front().length_s);
        // Segments are whole bytes in the plan; ranges that wrap around travel as two.
        const Seconds slack_s =
            0.1 * length_s + (absl::StrContains(choice->schedule.method, "scatter")
                                  ? costs.alpha_s * network.num_workers
                                  : 0);
        EXPECT_NEAR(Predicted(choice->schedule, network, bytes), length_s, slack_s);
        ReductionProblem blind = problem;
        blind.cuts.clear();
        const Schedule without = ChooseReduction(blind)->schedule;
        EXPECT_LE(length_s, 1.02 * Predicted(without, network, bytes)) << without.method;
        a_rack_schedule_won =
            a_rack_schedule_won || absl::StartsWith(choice->schedule.method, "rack ");
      }
    }
  }
  EXPECT_TRUE(a_rack_schedule_won);
}

TEST(CutChoice, EveryCandidateKeepsToTheLanes) {
  std::mt19937_64 random(31);
  for (int k = 0; k < 60; ++k) {
    const NetworkModel network = RandomRacks(random);
    ReductionProblem problem = ProblemOn(network, static_cast<double>(1 + random() % 50),
                                         {static_cast<double>(random() % 3), 1, 1});
    problem.root = static_cast<MachineIndex>(random() % At(network.num_workers));
    problem.max_segments = 8;
    problem.commutative = random() % 3 != 0;
    if (random() % 4 == 0) {
      problem.ready_s.assign(At(network.num_workers), 0);
      for (Seconds& ready_s : problem.ready_s) ready_s = static_cast<double>(random() % 9);
    }
    const auto schedules = EveryReduction(problem);
    ASSERT_TRUE(schedules.ok()) << schedules.status();
    for (const Schedule& schedule : *schedules) {
      ASSERT_EQ(LaneFault(schedule, network), "") << schedule.method;
      ASSERT_EQ(schedule.root == problem.root || !problem.ready_s.empty(), true);
      if (!problem.commutative) {
        ASSERT_EQ(CheckOrderPreserved(schedule), absl::OkStatus()) << schedule.method;
      }
    }
  }
}

// The tree that keeps to a limit was timed anew under the cuts alone, and refused where that broke
// the limit; segments were not tried at all.
TEST(CutChoice, KeepsToALimitOfTransfersBesideTheCuts) {
  for (const std::vector<std::int32_t>& sizes :
       std::vector<std::vector<std::int32_t>>{{4, 4, 4, 4}, {2, 2, 2, 2, 2, 2, 2, 2}, {5, 3, 1}}) {
    for (const std::int32_t limit : {1, 2, 3, 5}) {
      for (const bool shares : {false, true}) {
        for (const bool commutative : {true, false}) {
          NetworkModel network = RackNetwork(sizes, 1);
          ReductionProblem problem = ProblemOn(network, 100, {1, 1, 1});
          problem.max_segments = 16;
          problem.max_transfers = limit;
          problem.shares_cuts = shares;
          problem.commutative = commutative;
          network.cuts.push_back(LimitedTotal(network.num_workers, 1, limit).cuts.front());
          const auto schedules = EveryReduction(problem);
          ASSERT_TRUE(schedules.ok()) << schedules.status();
          for (const Schedule& schedule : *schedules) {
            ASSERT_EQ(LaneFault(schedule, network), "") << schedule.method << " K " << limit;
          }
          // All but one send the element, `limit` of them at a time.
          const ReductionChoice choice = *ChooseReduction(problem);
          EXPECT_EQ(ScheduleFault(choice.schedule, problem.ports), "") << choice.schedule.method;
          const double sent_s = 100.0 * (network.num_workers - 1);
          EXPECT_GE(choice.schedule.makespan_s, sent_s / limit) << choice.schedule.method;
          EXPECT_LE(choice.schedule.makespan_s, sent_s + 101.0 * network.num_workers);
          const auto all = ChooseAllReduce(problem);
          ASSERT_TRUE(all.ok()) << all.status();
          EXPECT_EQ(LaneFault(all->schedule, network), "") << all->schedule.method;
        }
      }
    }
  }
}

// Machines need not be numbered rack by rack: the choice finds who is near.
TEST(CutChoice, NumbersOfMachinesDoNotMatter) {
  const NetworkModel network = RackNetwork({4, 4, 4, 4}, 1);
  NetworkModel striped = network;
  for (std::size_t cut = 0; cut < network.cuts.size(); ++cut) {
    for (std::size_t i = 0; i < 16; ++i) {
      striped.cuts[cut].from[i % 4 * 4 + i / 4] = network.cuts[cut].from[i];
      striped.cuts[cut].to[i % 4 * 4 + i / 4] = network.cuts[cut].to[i];
    }
  }
  const LinkCosts costs{1, 1, 0.1};
  EXPECT_DOUBLE_EQ(ChooseReduction(ProblemOn(network, 1000, costs))->schedule.makespan_s,
                   ChooseReduction(ProblemOn(striped, 1000, costs))->schedule.makespan_s);
}

TEST(CutChoice, BroadcastsAndAllReducesKeepToTheLanes) {
  for (const double bytes : {960.0, 96'000.0, 960'000.0}) {
    for (const std::vector<std::int32_t>& sizes :
         std::vector<std::vector<std::int32_t>>{{4, 4}, {2, 2, 2, 2}, {3, 1, 2}}) {
      const LinkCosts costs{4e-5, 8e-9, 1e-9};
      const NetworkModel network = WithCosts(RackNetwork(sizes, 1), costs);
      const ReductionProblem problem = ProblemOn(network, bytes, costs);
      for (const auto& chosen : {ChooseBroadcast(problem), ChooseAllReduce(problem)}) {
        ASSERT_TRUE(chosen.ok()) << chosen.status();
        SCOPED_TRACE(chosen->schedule.method);
        EXPECT_EQ(LaneFault(chosen->schedule, network, 1e-10), "");
        const auto plan = SpreadingPlan(*chosen, network, static_cast<Bytes>(bytes), 8);
        ASSERT_TRUE(plan.ok()) << plan.status();
        EXPECT_EQ(CheckPlan(*plan), absl::OkStatus());
        const auto prediction = Predict(*plan);
        ASSERT_TRUE(prediction.ok()) << prediction.status();
        EXPECT_LE(prediction->makespan_s,
                  1.02 * chosen->schedule.makespan_s + costs.alpha_s * network.num_workers);
      }
      bool near_first = false;
      const SpreadingSchedule all = *ChooseAllReduce(problem);
      for (const ReductionCandidate& candidate : all.candidates)
        near_first = near_first || candidate.name == "rabenseifner, near first, and back";
      EXPECT_TRUE(near_first);
    }
  }
}

TEST(CutChoice, WhatDoesNotFitIsNamed) {
  ReductionProblem problem = ProblemOn(RackNetwork({2, 2}, 1), 1, {1, 1, 1});
  problem.ports.latency_holds_ports = false;
  EXPECT_NE(ChooseReduction(problem).status().message().find("cuts"), std::string::npos);
  problem.ports.latency_holds_ports = true;
  problem.cuts[0].from.pop_back();
  EXPECT_EQ(ChooseReduction(problem).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir::planner::tree
