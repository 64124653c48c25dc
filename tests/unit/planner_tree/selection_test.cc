#include "planner/tree/choice/selection.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "planner/tree/choice/operand_order.h"
#include "planner/tree/model/tree_bounds.h"
#include "planner/tree/segments/circulant.h"
#include "tests/unit/planner_tree/port_models.h"
#include "tests/unit/planner_tree/schedule_validator.h"

namespace weir::planner::tree {
namespace {

ReductionProblem Problem(std::int32_t p, double units, LinkCosts costs, PortModel ports) {
  ReductionProblem problem;
  problem.num_machines = p;
  problem.element_units = units;
  problem.costs = costs;
  problem.ports = ports;
  return problem;
}

// Tiny messages: latency counts, one tree in ceil(log2 p) steps. Long ones: many segments.
TEST(Selection, SmallMessagesTakeOneTreeLongOnesManySegments) {
  const ReductionChoice small = *ChooseReduction(Problem(16, 1, {100, 0.001, 0}, kBidirectional));
  EXPECT_EQ(small.candidates[0].num_segments, 1);
  const ReductionChoice large = *ChooseReduction(Problem(16, 1e5, {10, 1, 1}, kOverlap));
  EXPECT_GT(large.candidates[0].num_segments, 10);
  EXPECT_NE(DescribeChoice(large).find("runner-up"), std::string::npos);
}

TEST(Selection, WinnerIsValidAndNoCandidateIsShorter) {
  std::mt19937_64 random(79);
  for (int k = 0; k < 400; ++k) {
    ReductionProblem problem = Problem(
        static_cast<std::int32_t>(1 + random() % 20), static_cast<double>(1 + random() % 500),
        {static_cast<double>(random() % 20), 1, static_cast<double>(random() % 3)},
        {random() % 2 == 0, random() % 2 == 0, true});
    problem.max_segments = 24;
    problem.root =
        static_cast<MachineIndex>(random() % static_cast<std::uint64_t>(problem.num_machines));
    problem.commutative = random() % 3 != 0;
    const auto choice = ChooseReduction(problem);
    if (!choice.ok()) {
      EXPECT_EQ(choice.status().code(), absl::StatusCode::kFailedPrecondition) << choice.status();
      EXPECT_FALSE(problem.commutative);
      continue;
    }
    ASSERT_EQ(ScheduleFault(choice->schedule, problem.ports), "") << choice->schedule.method;
    ASSERT_EQ(choice->schedule.root, problem.root);
    ASSERT_EQ(choice->schedule.makespan_s, choice->candidates[0].length_s);
    if (!problem.commutative) {
      ASSERT_TRUE(CheckOrderPreserved(choice->schedule).ok());
    }
    for (const ReductionCandidate& candidate : choice->candidates) {
      if (candidate.refusal.empty()) {
        ASSERT_GE(candidate.length_s, choice->schedule.makespan_s);
      }
    }
  }
}

// One machine more must neither be much cheaper (a cliff before it) nor cost more than one more
// level of a tree.
TEST(Selection, NoCliffsAroundPowersOfTwo) {
  for (const PortModel ports : {kOverlap, kBidirectional, kUnidirectional}) {
    for (const double units : {1.0, 30.0, 1000.0, 20000.0}) {
      for (const double gamma : {0.0, 1.0}) {
        double before_s = 0;
        for (std::int32_t p = 2; p <= 33; ++p) {
          const LinkCosts costs{10, 1, gamma};
          ReductionProblem problem = Problem(p, units, costs, ports);
          problem.max_segments = 256;
          const double length_s = ChooseReduction(problem)->schedule.makespan_s;
          ASSERT_GE(length_s, 0.97 * before_s) << p << " " << units << " " << gamma;
          const double level_s = costs.alpha_s + (costs.beta_s_per_unit + gamma) * units;
          if (p > 2) {
            ASSERT_LE(length_s, before_s + level_s) << p << " " << units << " " << gamma;
          }
          before_s = length_s;
        }
      }
    }
  }
}

TEST(Selection, RefusesWithTheReason) {
  ReductionProblem problem = Problem(8, 100, {1, 1, 1}, kOverlap);
  problem.commutative = false;
  const ReductionChoice choice = *ChooseReduction(problem);
  bool refused = false;
  for (const ReductionCandidate& candidate : choice.candidates) {
    refused = refused || candidate.refusal.find("commutative") != std::string::npos;
  }
  EXPECT_TRUE(refused);
  problem.slowdown.assign(8, 2);
  const auto none = ChooseReduction(problem);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(none.status().message().find("no neighbours"), std::string::npos);
}

// Every order has a tree, wherever the root stands, also where combining takes nothing.
TEST(Selection, OrderIsKeptWithTheRootInTheMiddle) {
  for (const PortModel ports : {kOverlap, kBidirectional, kUnidirectional}) {
    for (std::int32_t p = 1; p <= 12; ++p) {
      for (MachineIndex root = 0; root < p; ++root) {
        for (const std::int64_t limit : {kNoTransferLimit, std::int64_t{2}}) {
          ReductionProblem problem = Problem(p, 10, {1, 1, 0}, ports);
          problem.commutative = false;
          problem.root = root;
          problem.max_transfers = limit;
          const auto choice = ChooseReduction(problem);
          ASSERT_TRUE(choice.ok()) << p << " " << root << " " << limit << choice.status();
          ASSERT_EQ(choice->schedule.root, root);
          ASSERT_EQ(ScheduleFault(choice->schedule, ports), "") << p << " " << root;
          ASSERT_EQ(CheckOrderPreserved(choice->schedule), absl::OkStatus());
        }
      }
    }
  }
}

// The tree that keeps the order was the one for combining beside transfers on all ports: its root
// has more senders than rounds, one after the other where nothing overlaps.
TEST(Selection, OrderCostsNoRoundWhereNothingOverlaps) {
  for (const PortModel ports : {kBidirectional, kUnidirectional}) {
    for (const double gamma : {0.0, 1.0, 3.0}) {
      for (const std::int32_t p : {4, 7, 16, 23, 32}) {
        for (MachineIndex root = 0; root < p; ++root) {
          ReductionProblem problem = Problem(p, 1, {0, 1, gamma}, ports);
          problem.commutative = false;
          problem.root = root;
          problem.max_segments = 8;
          const auto choice = ChooseReduction(problem);
          ASSERT_TRUE(choice.ok()) << choice.status();
          ASSERT_LE(choice->schedule.makespan_s,
                    static_cast<double>(CeilLog2(p)) * (1 + gamma) + 1e-9)
              << p << " " << root << " " << gamma;
          ASSERT_EQ(ScheduleFault(choice->schedule, ports), "") << p << " " << root;
          ASSERT_EQ(CheckOrderPreserved(choice->schedule), absl::OkStatus());
        }
      }
    }
  }
}

TEST(Selection, ARefusedBuilderIsNamed) {
  // More machines than rabenseifner and reduce-scatter build for.
  ReductionProblem problem = Problem(4097, 1, {1, 1, 1}, kBidirectional);
  problem.max_segments = 1;
  const ReductionChoice choice = *ChooseReduction(problem);
  std::vector<std::string> refused;
  for (const ReductionCandidate& candidate : choice.candidates) {
    if (!candidate.refusal.empty()) refused.push_back(candidate.name);
  }
  EXPECT_EQ(refused, std::vector<std::string>{"rabenseifner"});
}

TEST(Selection, SpeedsReleasesAndLimitsHaveTheirOwnBuilders) {
  ReductionProblem speeds = Problem(12, 1, {0, 1, 0}, kUnidirectional);
  speeds.slowdown = {1.75, 1, 1, 1, 1, 1, 1, 1, 1, 1.75, 1.75, 1.75};
  const ReductionChoice fast = *ChooseReduction(speeds);
  EXPECT_DOUBLE_EQ(fast.schedule.makespan_s, 2 * 1.75 + 1);  // Fig. 8 of 003
  EXPECT_EQ(ScheduleFault(fast.schedule, kUnidirectional), "");

  ReductionProblem releases = Problem(4, 1, {0, 1, 1}, kOverlap);
  releases.ready_s = {0, 0, 3, 5};
  releases.max_segments = 1;
  EXPECT_EQ(ChooseReduction(releases)->schedule.makespan_s, 7);

  ReductionProblem limited = Problem(6, 1, {0, 1, 1}, kOverlap);
  limited.max_transfers = 1;
  EXPECT_EQ(ChooseReduction(limited)->schedule.method, "greedy tree under the limit");
}

// A pipeline of eight machines has seven transfers at once, more than p/2.
TEST(Selection, SegmentedSchedulesKeepToTheLimit) {
  for (std::int64_t limit = 1; limit <= 8; ++limit) {
    ReductionProblem problem = Problem(8, 1000, {1, 1, 1}, kOverlap);
    problem.max_transfers = limit;
    const ReductionChoice choice = *ChooseReduction(problem);
    for (const Message& message : choice.schedule.messages) {
      std::int64_t at_once = 0;
      for (const Message& other : choice.schedule.messages) {
        at_once += other.start_s <= message.start_s + 1e-9 &&
                   message.start_s + 1e-9 < other.start_s + other.port_s;
      }
      ASSERT_LE(at_once, limit) << choice.schedule.method;
    }
  }
}

// Algorithm 2 was offered with the times of ports that overlap: eight machines, three transfers at
// once, took 5, where without a limit 6 is the least.
TEST(Selection, TreesUnderALimitAreTimedOnPortsThatDoNotOverlap) {
  for (const PortModel& ports : {kUnidirectional, kBidirectional}) {
    for (std::int32_t p = 4; p <= 12; ++p) {
      for (std::int64_t limit = 1; limit < p / 2; ++limit) {
        for (const double gamma : {0.0, 1.0, 3.0}) {
          for (const bool commutative : {true, false}) {
            ReductionProblem problem = Problem(p, 1, {0, 1, gamma}, ports);
            problem.max_transfers = limit;
            problem.commutative = commutative;
            const auto choice = ChooseReduction(problem);
            ASSERT_TRUE(choice.ok()) << choice.status();
            EXPECT_EQ(ScheduleFault(choice->schedule, ports), "") << p << " K " << limit;
            EXPECT_GE(choice->schedule.makespan_s, std::ceil((p - 1.0) / limit) - 1e-9);
            EXPECT_GE(choice->schedule.makespan_s,
                      static_cast<double>(CeilLog2(p)) * (1 + gamma) - 1e-9);
            for (const Message& message : choice->schedule.messages) {
              std::int64_t at_once = 0;
              for (const Message& other : choice->schedule.messages) {
                at_once += other.start_s <= message.start_s + 1e-9 &&
                           message.start_s + 1e-9 < other.start_s + other.port_s;
              }
              EXPECT_LE(at_once, limit);
            }
          }
        }
      }
    }
  }
}

TEST(Selection, BadInputNamesTheField) {
  EXPECT_NE(ChooseReduction(Problem(0, 1, {1, 1, 1}, kOverlap)).status().message().find("p is 0"),
            std::string::npos);
  ReductionProblem problem = Problem(4, 1, {1, 1, 1}, kOverlap);
  problem.root = 4;
  EXPECT_NE(ChooseReduction(problem).status().message().find("root is 4"), std::string::npos);
  problem.root = 0;
  problem.slowdown = {1, 1};
  EXPECT_NE(ChooseReduction(problem).status().message().find("slowdown has 2"), std::string::npos);
}

}  // namespace
}  // namespace weir::planner::tree
