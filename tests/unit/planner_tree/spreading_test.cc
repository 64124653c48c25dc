// Broadcasts and all-reduces: their plans are accepted, predicted as scheduled, and bring everybody
// what they should.

#include "planner/tree/choice/spreading.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "planner/tree/write/spreading_plan.h"
#include "planner/tree/write/tree_plan.h"
#include "tests/unit/planner_tree/plan_execution.h"
#include "tests/unit/planner_tree/port_models.h"
#include "tests/unit/planner_tree/rack_networks.h"

namespace weir::planner::tree {
namespace {

using Ranks = std::vector<std::int64_t>;

constexpr Bytes kSpreadPlaceBytes = 8;

ReductionProblem Problem(std::int32_t p, double bytes, double gamma, bool commutative = true,
                         MachineIndex root = 0) {
  ReductionProblem problem;
  problem.num_machines = p;
  problem.element_units = bytes;
  problem.costs = {.alpha_s = 1e-4, .beta_s_per_unit = 1e-7, .gamma_s_per_unit = gamma};
  problem.commutative = commutative;
  problem.root = root;
  problem.max_segments = 64;
  return problem;
}

absl::StatusOr<Plan> PlanOf(const SpreadingSchedule& chosen, const ReductionProblem& problem) {
  const auto bytes = static_cast<Bytes>(problem.element_units);
  NetworkModel network =
      NetworkOf(problem.costs, problem.num_machines, problem.element_units, bytes);
  network.port_slowdown = problem.slowdown;
  return SpreadingPlan(chosen, network, bytes, kSpreadPlaceBytes);
}

// What each worker holds at the end, by slice.
std::vector<std::vector<Ranks>> Held(const Plan& plan, std::int64_t num_places) {
  const auto values = ExecutePlan<Ranks>(
      plan, num_places, kSpreadPlaceBytes,
      [](const ComputeStep& step) { return Ranks{step.worker}; },
      [](const Ranks& left, const Ranks& right) {
        Ranks both = left;
        both.insert(both.end(), right.begin(), right.end());
        return both;
      });
  EXPECT_TRUE(values.ok()) << values.status();
  std::vector<std::vector<Ranks>> held(plan.compute_order.size());
  if (!values.ok()) return held;
  for (std::size_t worker = 0; worker < held.size(); ++worker) {
    held[worker].resize(values->slice_begin.size());
    for (const StepIndex step : plan.compute_order[worker]) {
      for (std::size_t slice = 0; slice < values->slice_begin.size(); ++slice) {
        const std::optional<Ranks>& value = values->of_step[At(step)][slice];
        if (value.has_value()) held[worker][slice] = *value;
      }
    }
  }
  return held;
}

void ExpectSound(const Plan& plan, const SpreadingSchedule& chosen,
                 const ReductionProblem& problem) {
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  const absl::StatusOr<Prediction> prediction = Predict(plan);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  // A message that wraps around is two transfers, each with its latency; whole places round.
  const Seconds slack_s =
      static_cast<double>(chosen.schedule.messages.size()) * problem.costs.alpha_s +
      1e-7 * kSpreadPlaceBytes * static_cast<double>(chosen.schedule.segment_units.size());
  EXPECT_LE(prediction->makespan_s, chosen.schedule.makespan_s + slack_s) << chosen.schedule.method;
  EXPECT_LE(chosen.schedule.makespan_s, prediction->makespan_s * (1 + 1e-9) + slack_s);
}

TEST(SpreadingTest, EveryAllReduceGivesEverybodyAllOperands) {
  for (std::int32_t p = 1; p <= 9; ++p) {
    for (const double bytes : {8.0, 800.0, 80'000.0, 800'000.0}) {
      for (const double gamma : {0.0, 1e-7, 1e-6}) {
        for (const bool commutative : {true, false}) {
          const ReductionProblem problem = Problem(p, bytes, gamma, commutative);
          const auto chosen = ChooseAllReduce(problem);
          ASSERT_TRUE(chosen.ok()) << chosen.status();
          const auto plan = PlanOf(*chosen, problem);
          ASSERT_TRUE(plan.ok()) << plan.status() << " " << chosen->schedule.method;
          const std::string what = absl::StrCat(chosen->schedule.method, " p=", p, " ", bytes,
                                                commutative ? "" : " ordered");
          SCOPED_TRACE(what);
          ExpectSound(*plan, *chosen, problem);
          Ranks all(static_cast<std::size_t>(p));
          for (std::int32_t i = 0; i < p; ++i) all[At(i)] = i;
          for (const auto& worker :
               Held(*plan, static_cast<std::int64_t>(bytes) / kSpreadPlaceBytes)) {
            for (Ranks value : worker) {
              if (commutative) std::sort(value.begin(), value.end());
              EXPECT_EQ(value, all);
            }
          }
        }
      }
    }
  }
}

TEST(SpreadingTest, EveryBroadcastGivesEverybodyTheRootsOperand) {
  for (std::int32_t p = 1; p <= 9; ++p) {
    for (const double bytes : {8.0, 800.0, 80'000.0, 800'000.0}) {
      for (const MachineIndex root : {0, p / 2, p - 1}) {
        const ReductionProblem problem = Problem(p, bytes, 0, true, root);
        const auto chosen = ChooseBroadcast(problem);
        ASSERT_TRUE(chosen.ok()) << chosen.status();
        const auto plan = PlanOf(*chosen, problem);
        ASSERT_TRUE(plan.ok()) << plan.status();
        SCOPED_TRACE(absl::StrCat(chosen->schedule.method, " p=", p, " ", bytes, " root ", root));
        ExpectSound(*plan, *chosen, problem);
        for (const auto& worker :
             Held(*plan, static_cast<std::int64_t>(bytes) / kSpreadPlaceBytes)) {
          for (const Ranks& value : worker) EXPECT_EQ(value, Ranks{root});
        }
      }
    }
  }
}

// A broadcast takes as long as the reduction that it is backwards.
TEST(SpreadingTest, ABroadcastIsAsLongAsAReductionThatCostsNothing) {
  for (std::int32_t p = 2; p <= 33; ++p) {
    const ReductionProblem problem = Problem(p, 1e6, 0);
    const auto reduce = ChooseReduction(problem);
    const auto spread = ChooseBroadcast(problem);
    ASSERT_TRUE(reduce.ok() && spread.ok());
    EXPECT_NEAR(spread->schedule.makespan_s, reduce->schedule.makespan_s,
                0.02 * reduce->schedule.makespan_s)
        << p;
  }
}

// No port can carry less than 2 (p - 1) / p of the element, and long ones come close to that.
TEST(SpreadingTest, LongAllReducesAreNearTheirBound) {
  for (std::int32_t p = 2; p <= 33; ++p) {
    const ReductionProblem problem = Problem(p, 1e8, 1e-10);
    const auto chosen = ChooseAllReduce(problem);
    ASSERT_TRUE(chosen.ok());
    const Seconds bound_s = 2.0 * (p - 1) / p * 1e-7 * 1e8;
    EXPECT_GE(chosen->schedule.makespan_s, bound_s * (1 - 1e-9)) << p;
    EXPECT_LE(chosen->schedule.makespan_s, 1.03 * bound_s) << p << " " << chosen->schedule.method;
  }
}

void ExpectAllOperands(const Plan& plan, const ReductionProblem& problem) {
  Ranks all(static_cast<std::size_t>(problem.num_machines));
  for (std::int32_t i = 0; i < problem.num_machines; ++i) all[At(i)] = i;
  for (const auto& worker :
       Held(plan, static_cast<std::int64_t>(problem.element_units) / kSpreadPlaceBytes)) {
    for (Ranks value : worker) {
      if (problem.commutative) std::sort(value.begin(), value.end());
      EXPECT_EQ(value, all);
    }
  }
}

std::int64_t MostAtOnce(const Schedule& schedule) {
  std::int64_t most = 0;
  for (const Message& message : schedule.messages) {
    const Seconds at_s = message.start_s + 1e-6 * message.port_s;
    most = std::max<std::int64_t>(
        most, std::count_if(schedule.messages.begin(), schedule.messages.end(),
                            [&](const Message& other) {
                              return other.start_s <= at_s && at_s < other.start_s + other.port_s;
                            }));
  }
  return most;
}

// Of all-reduces, too: rings whose messages went all at once took up to six times as long as a
// reduction and then a broadcast, which keep to the limit.
TEST(SpreadingTest, KeepToTheLimitOfTransfers) {
  for (const std::int32_t p : {4, 7, 16}) {
    for (const std::int64_t limit : {1, 2, 3, 6}) {
      for (const double bytes : {80.0, 8'000.0, 800'000.0}) {
        for (const bool commutative : {true, false}) {
          ReductionProblem problem = Problem(p, bytes, 1e-8, commutative);
          problem.max_transfers = limit;
          const auto reduce = ChooseReduction(problem);
          const auto spread = ChooseBroadcast(problem);
          const auto chosen = ChooseAllReduce(problem);
          ASSERT_TRUE(reduce.ok() && spread.ok() && chosen.ok()) << chosen.status();
          SCOPED_TRACE(absl::StrCat(chosen->schedule.method, " p=", p, " K=", limit, " ", bytes));
          EXPECT_LE(MostAtOnce(spread->schedule), limit);
          EXPECT_LE(MostAtOnce(chosen->schedule), limit);
          EXPECT_LE(chosen->schedule.makespan_s,
                    (reduce->schedule.makespan_s + spread->schedule.makespan_s) * (1 + 1e-9));
          NetworkModel network =
              LimitedTotal(p, problem.costs.beta_s_per_unit, static_cast<std::int32_t>(limit));
          network.latency_s = problem.costs.alpha_s;
          const auto plan =
              SpreadingPlan(*chosen, network, static_cast<Bytes>(bytes), kSpreadPlaceBytes);
          ASSERT_TRUE(plan.ok()) << plan.status();
          ExpectSound(*plan, *chosen, problem);
          ExpectAllOperands(*plan, problem);
        }
      }
    }
  }
}

// The broadcast need not be in the reduction's segments, nor backwards what kept an order.
TEST(SpreadingTest, AllReducesAreNoLongerThanAReductionAndABroadcast) {
  bool shorter = false;
  for (const bool overlaps : {true, false}) {
    for (const bool commutative : {true, false}) {
      for (const std::int32_t p : {2, 3, 5, 8, 13, 24}) {
        for (const double bytes : {80.0, 4'000.0, 80'000.0, 2'000'000.0}) {
          for (const double gamma : {0.0, 1e-8, 1e-6}) {
            ReductionProblem problem = Problem(p, bytes, gamma, commutative);
            problem.ports.overlaps_compute = overlaps;
            const auto reduce = ChooseReduction(problem);
            const auto spread = ChooseBroadcast(problem);
            const auto chosen = ChooseAllReduce(problem);
            ASSERT_TRUE(reduce.ok() && spread.ok() && chosen.ok()) << chosen.status();
            SCOPED_TRACE(absl::StrCat(chosen->schedule.method, " p=", p, " ", bytes, " ", gamma));
            const Seconds both_s = reduce->schedule.makespan_s + spread->schedule.makespan_s;
            EXPECT_LE(chosen->schedule.makespan_s, both_s * (1 + 1e-9));
            shorter = shorter || chosen->schedule.makespan_s < 0.9 * both_s;
            if (!overlaps) continue;
            const auto plan = PlanOf(*chosen, problem);
            ASSERT_TRUE(plan.ok()) << plan.status();
            EXPECT_EQ(CheckPlan(*plan), absl::OkStatus());
            // In a plan what is only kept waits for what its machine is combining.
            EXPECT_LE(Predict(*plan)->makespan_s, 1.01 * both_s + 2 * problem.costs.alpha_s);
            ExpectAllOperands(*plan, problem);
          }
        }
      }
    }
  }
  EXPECT_TRUE(shorter);
}

// What a slow port carries takes longer in every all-reduce, not only through a root.
TEST(SpreadingTest, AllReducesAreTimedOnSlowPorts) {
  for (const std::int32_t p : {4, 7, 16}) {
    for (const double bytes : {80.0, 8'000.0, 800'000.0}) {
      // Machine 0, which a reduction ends at, only receives there.
      for (const std::int32_t slow : {1, 0}) {
        ReductionProblem problem = Problem(p, bytes, 1e-8);
        problem.slowdown.assign(At(p), 1);
        problem.slowdown[At(slow)] = 4;
        const auto chosen = ChooseAllReduce(problem);
        ASSERT_TRUE(chosen.ok()) << chosen.status();
        SCOPED_TRACE(absl::StrCat(chosen->schedule.method, " p=", p, " ", bytes, " slow ", slow));
        const auto plan = PlanOf(*chosen, problem);
        ASSERT_TRUE(plan.ok()) << plan.status();
        ExpectSound(*plan, *chosen, problem);
        ExpectAllOperands(*plan, problem);
        // Of each place its operand, a partial or the result leaves through the slow port.
        EXPECT_GE(chosen->schedule.makespan_s, 4 * 1e-7 * bytes);
      }
    }
  }
}

// Follows the messages in their order. Returns "" if nobody sends what it does not hold, or copies
// a part of the operands, and every machine ends with all of them, or with the root's.
std::string OrderFault(const SpreadingSchedule& chosen, bool broadcast, MachineIndex root) {
  const auto p = static_cast<std::size_t>(chosen.schedule.num_machines);
  const std::size_t q = chosen.schedule.segment_units.size();
  const std::size_t all = broadcast ? 1 : p;
  std::vector<std::vector<std::set<MachineIndex>>> held(p, std::vector<std::set<MachineIndex>>(q));
  for (std::size_t i = 0; i < p; ++i) {
    const auto machine = static_cast<MachineIndex>(i);
    for (auto& segment : held[i]) {
      if (!broadcast || machine == root) segment = {machine};
    }
  }
  for (std::size_t k = 0; k < chosen.schedule.messages.size(); ++k) {
    const Message& message = chosen.schedule.messages[k];
    for (std::int32_t j = message.segment_begin; j < message.segment_end; ++j) {
      std::set<MachineIndex>& from = held[At(message.sender)][At(j) % q];
      std::set<MachineIndex>& to = held[At(message.receiver)][At(j) % q];
      if (from.empty() || (chosen.spreads[k] && from.size() != all))
        return absl::StrCat("message ", k, " sends ", from.size(), " operands of segment ", j);
      if (chosen.spreads[k]) {
        to = from;
        continue;
      }
      to.insert(from.begin(), from.end());
      from.clear();
    }
  }
  for (std::size_t i = 0; i < p; ++i) {
    for (const auto& segment : held[i]) {
      if (segment.size() != all) return absl::StrCat("machine ", i, " ends with a part");
    }
  }
  return "";
}

// No reduction is made for slow ports and an order: there was no all-reduce either.
TEST(SpreadingTest, AllReducesInOrderOnSlowPorts) {
  for (const std::int32_t p : {2, 4, 7, 16}) {
    for (const double bytes : {80.0, 8'000.0, 800'000.0}) {
      for (const std::int32_t slow : {1, 0}) {
        ReductionProblem problem = Problem(p, bytes, 1e-8, /*commutative=*/false);
        problem.slowdown.assign(At(p), 1);
        problem.slowdown[At(slow)] = 4;
        const auto chosen = ChooseAllReduce(problem);
        ASSERT_TRUE(chosen.ok()) << chosen.status();
        SCOPED_TRACE(absl::StrCat(chosen->schedule.method, " p=", p, " ", bytes, " slow ", slow));
        const auto plan = PlanOf(*chosen, problem);
        ASSERT_TRUE(plan.ok()) << plan.status();
        EXPECT_EQ(CheckPlan(*plan), absl::OkStatus());
        ExpectAllOperands(*plan, problem);
        EXPECT_GE(chosen->schedule.makespan_s, 4 * 1e-7 * bytes);
      }
    }
  }
}

// With all ports at a quarter of the rate, beside a network that is four times as slow.
template <typename Choose>
void ExpectNoLongerThanAllAtTheSlowestRate(ReductionProblem problem, Choose choose) {
  ReductionProblem slow_network = problem;
  slow_network.costs.beta_s_per_unit *= 4;
  problem.slowdown.assign(At(problem.num_machines), 4);
  const auto all_slow = choose(slow_network);
  const auto chosen = choose(problem);
  ASSERT_TRUE(all_slow.ok() && chosen.ok()) << chosen.status();
  EXPECT_LE(chosen->schedule.makespan_s, 1.5 * all_slow->schedule.makespan_s)
      << problem.num_machines;
}

// Whole elements go log2(p) times through ports that are all slow.
TEST(SpreadingTest, AllReducesOnSlowPortsAreNoLongerThanAllAtTheSlowestRate) {
  for (const std::int32_t p : {4, 8, 16}) {
    for (const bool commutative : {true, false}) {
      ExpectNoLongerThanAllAtTheSlowestRate(Problem(p, 800'000, 1e-9, commutative),
                                            ChooseAllReduce);
    }
  }
}

// The port of the root, too, through which nothing came in the reduction.
TEST(SpreadingTest, BroadcastsAreTimedOnSlowPorts) {
  for (const std::int32_t p : {2, 4, 7, 16}) {
    for (const double bytes : {80.0, 8'000.0, 800'000.0}) {
      for (const std::int32_t slow : {1, 0}) {
        ReductionProblem problem = Problem(p, bytes, 0);
        problem.slowdown.assign(At(p), 1);
        problem.slowdown[At(slow)] = 4;
        const auto chosen = ChooseBroadcast(problem);
        ASSERT_TRUE(chosen.ok()) << chosen.status();
        SCOPED_TRACE(absl::StrCat(chosen->schedule.method, " p=", p, " ", bytes, " slow ", slow));
        EXPECT_EQ(OrderFault(*chosen, true, 0), "");
        const auto plan = PlanOf(*chosen, problem);
        ASSERT_TRUE(plan.ok()) << plan.status();
        ExpectSound(*plan, *chosen, problem);
        // The whole element crosses the slow port.
        EXPECT_GE(chosen->schedule.makespan_s, 4 * 1e-7 * bytes);
        EXPECT_EQ(chosen->schedule.makespan_s, chosen->candidates.front().length_s);
      }
    }
  }
}

// Segments beat whole elements on ports that are all slow.
TEST(SpreadingTest, BroadcastsOnSlowPortsAreNoLongerThanTheSlowestPortMakesThemAll) {
  for (const std::int32_t p : {2, 5, 8, 16}) {
    ExpectNoLongerThanAllAtTheSlowestRate(Problem(p, 800'000, 0), ChooseBroadcast);
  }
}

// Nobody but the root has an element to wait for.
TEST(SpreadingTest, ABroadcastWaitsForTheRootsElementAlone) {
  ReductionProblem problem = Problem(4, 800, 0, true, 2);
  const Seconds length_s = ChooseBroadcast(problem)->schedule.makespan_s;
  problem.ready_s = {0, 100, 5, 1000};
  const auto chosen = ChooseBroadcast(problem);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  EXPECT_NEAR(chosen->schedule.makespan_s, 5 + length_s, 1e-9);
  EXPECT_EQ(OrderFault(*chosen, true, 2), "");
  for (const Message& message : chosen->schedule.messages) EXPECT_GE(message.start_s, 5);
  problem.ready_s.pop_back();
  EXPECT_EQ(ChooseBroadcast(problem).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(SpreadingTest, AllReducesWaitForTheElements) {
  for (const std::int32_t p : {4, 7}) {
    for (const double bytes : {80.0, 800'000.0}) {
      for (const std::int64_t limit : {std::int64_t{2}, kNoTransferLimit}) {
        ReductionProblem problem = Problem(p, bytes, 1e-8);
        problem.max_transfers = limit;
        for (std::int32_t i = 0; i < p; ++i) problem.ready_s.push_back(i == 1 ? 2 : 0.01 * i);
        const auto chosen = ChooseAllReduce(problem);
        ASSERT_TRUE(chosen.ok()) << chosen.status();
        SCOPED_TRACE(absl::StrCat(chosen->schedule.method, " p=", p, " ", bytes));
        EXPECT_GT(chosen->schedule.makespan_s, 2);
        EXPECT_LE(MostAtOnce(chosen->schedule), limit);
        for (const Message& message : chosen->schedule.messages) {
          EXPECT_GE(message.start_s, problem.ready_s[At(message.sender)]);
        }
        ReductionProblem free = problem;
        free.ready_s.clear();
        EXPECT_LE(chosen->schedule.makespan_s, (ChooseReduction(problem)->schedule.makespan_s +
                                                ChooseBroadcast(free)->schedule.makespan_s) *
                                                   (1 + 1e-9));
        const auto plan = PlanOf(*chosen, problem);
        ASSERT_TRUE(plan.ok()) << plan.status();
        EXPECT_EQ(CheckPlan(*plan), absl::OkStatus());
        ExpectAllOperands(*plan, problem);
      }
    }
  }
}

// Messages that take no time start together, and backwards in time stood in the order of the
// reduction: a machine passed on what it did not have. Under cuts and limits nothing was chosen.
TEST(SpreadingTest, MessagesThatTakeNoTimeComeAfterWhatTheyCarry) {
  for (const std::int32_t p : {1, 2, 3, 5, 7, 8, 16}) {
    for (const LinkCosts& costs : {LinkCosts{0, 0, 0}, LinkCosts{0, 0, 1}, LinkCosts{1, 1, 1}}) {
      for (const PortModel& ports : {kOverlap, kBidirectional, kUnidirectional}) {
        for (const bool racks : {false, true}) {
          ReductionProblem problem = Problem(p, 8, 0);
          problem.costs = costs;
          problem.ports = ports;
          problem.max_segments = 8;
          if (racks) {
            std::vector<std::int32_t> sizes(At(p / 2), 2);
            if (p % 2 == 1) sizes.push_back(1);
            problem.cuts = RackNetwork(sizes, 1).cuts;
          }
          const auto spread = ChooseBroadcast(problem);
          // So late that a message's time is lost beside it.
          if (costs.alpha_s > 0) problem.ready_s.assign(At(p), 1e100);
          const auto chosen = ChooseAllReduce(problem);
          ASSERT_TRUE(spread.ok()) << spread.status();
          ASSERT_TRUE(chosen.ok()) << chosen.status();
          SCOPED_TRACE(absl::StrCat("p=", p, " alpha ", costs.alpha_s, " gamma ",
                                    costs.gamma_s_per_unit, racks ? " racks" : ""));
          EXPECT_EQ(OrderFault(*spread, true, 0), "") << spread->schedule.method;
          EXPECT_EQ(OrderFault(*chosen, false, 0), "") << chosen->schedule.method;
        }
      }
    }
  }
}

TEST(SpreadingTest, WhatDoesNotFitIsNamed) {
  const ReductionProblem problem = Problem(3, 80, 0);
  const auto chosen = ChooseAllReduce(problem);
  ASSERT_TRUE(chosen.ok());
  const NetworkModel network = NetworkOf(problem.costs, 3, 80, 80);
  EXPECT_EQ(SpreadingPlan(*chosen, network, 81, 8).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(SpreadingPlan(*chosen, NetworkOf(problem.costs, 4, 80, 80), 80, 8).status().code(),
            absl::StatusCode::kInvalidArgument);
  ReductionProblem wrong = problem;
  wrong.root = 3;
  EXPECT_EQ(ChooseAllReduce(wrong).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ChooseBroadcast(wrong).status().code(), absl::StatusCode::kInvalidArgument);
  wrong = problem;
  wrong.slowdown = {1, 4};
  EXPECT_EQ(ChooseAllReduce(wrong).status().code(), absl::StatusCode::kInvalidArgument);
  wrong = problem;
  wrong.cuts = RackNetwork({2, 1}, 1).cuts;
  wrong.cuts[0].from.clear();
  EXPECT_EQ(ChooseAllReduce(wrong).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace weir::planner::tree
