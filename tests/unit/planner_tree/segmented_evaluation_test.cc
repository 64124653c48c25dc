// The printed results of 001, and the exact search beside them.

#include "planner/tree/segments/segmented_evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "planner/tree/segments/segmented_exact.h"
#include "tests/unit/planner_tree/schedule_validator.h"

namespace weir::planner::tree {
namespace {

// By segment and from 0: the document's solution1 sends machine 2's second segment to machine 3.
const DestinationMatrix kSolution1 = {{0, 0, 0}, {0, 2, 0}};
const DestinationMatrix kSolution2 = {{0, 0, 0}, {0, 0, 0}};

TEST(Evaluate, PrintedResultsOfTheDocument) {
  EXPECT_NEAR(**EvaluateDestinations(kSolution1, {0.1, 1, 0.3}), 3.8, 1e-12);
  EXPECT_NEAR(**EvaluateDestinations(kSolution1, {0.1, 1, 1.3}), 5.8, 1e-12);
  EXPECT_NEAR(**EvaluateDestinations(kSolution2, {1.1, 1, 0.3}), 5.4, 1e-12);
  EXPECT_NEAR(**EvaluateDestinations(kSolution2, {1.1, 1, 1.3}), 7.3, 1e-12);
  EXPECT_FALSE(EvaluateDestinations({{0, 2, 1}}, {1, 1, 1})->has_value());
}

// Hand solution, alpha = 0, beta = gamma = 1: at 0 machine 2's first segment goes to 1 and machine
// 3's second one to 2; at 1 machine 3's first to 1; at 2 machine 2 has combined and sends, at 3
// that is there, at 4 combined. In order machine 3's second segment waits for its first: 6.
TEST(Backfilling, LetsALaterSegmentGoFirst) {
  const DestinationMatrix matrix = {{0, 0, 0}, {0, 0, 1}};
  const Schedule schedule = *BackfilledSchedule(matrix, {0, 1, 1});
  EXPECT_EQ(schedule.makespan_s, 4);
  EXPECT_EQ(ScheduleFault(schedule, {true, true, false}), "");
  EXPECT_EQ(**EvaluateDestinations(matrix, {0, 1, 1}), 6);
}

// With it the document's four cases are as short as any schedule.
TEST(Backfilling, TheBestMatrixOfTheDocumentsCasesIsOptimal) {
  const std::vector<std::vector<MachineIndex>> trees = {{0, 0, 0}, {0, 0, 1}, {0, 2, 0}};
  for (const auto& [costs, least_s] : {std::pair{LinkCosts{0.1, 1, 0.3}, 3.4},
                                       {LinkCosts{0.1, 1, 1.3}, 5.0},
                                       {LinkCosts{1.1, 1, 0.3}, 4.8},
                                       {LinkCosts{1.1, 1, 1.3}, 6.8}}) {
    double best_s = 1e300;
    for (const auto& first : trees) {
      for (const auto& second : trees) {
        const Schedule schedule = *BackfilledSchedule({first, second}, costs);
        ASSERT_EQ(ScheduleFault(schedule, {true, true, false}), "");
        ASSERT_LE(schedule.makespan_s, **EvaluateDestinations({first, second}, costs) + 1e-9);
        best_s = std::min(best_s, schedule.makespan_s);
      }
    }
    EXPECT_NEAR(best_s, least_s, 1e-9);
    EXPECT_NEAR(best_s, SegmentedExactSearch(3, 2, costs)->makespan_s, 1e-9);
  }
}

TEST(Backfilling, ACycleNamesItsSegment) {
  const auto schedule = BackfilledSchedule({{0, 0, 0}, {0, 2, 1}}, {1, 1, 1});
  EXPECT_TRUE(absl::IsInvalidArgument(schedule.status()));
  EXPECT_NE(schedule.status().message().find("segment 2 has a cycle"), std::string::npos);
}

TEST(FindMin, PrintedCountsOfTheDocument) {
  struct Row {
    LinkCosts costs;
    double mks;
    std::int64_t min;
    std::size_t sols;
  };
  for (const Row& row : {Row{{0.1, 1, 0.3}, 3.8, 3, 2},
                         {{0.1, 1, 1.3}, 5.8, 1, 1},
                         {{1.1, 1, 0.3}, 5.4, 1, 1},
                         {{1.1, 1, 1.3}, 7.3, 1, 1}}) {
    const FindMinResult found = *FindMinDestinations(3, 2, row.costs);
    EXPECT_NEAR(found.makespan_s, row.mks, 1e-9);
    EXPECT_EQ(found.num_tested, 16);
    EXPECT_EQ(found.num_valid, 9);
    EXPECT_EQ(found.num_optimal, row.min);
    EXPECT_EQ(found.distinct.size(), row.sols);
  }
}

// Cayley: n^(n-2) trees a segment; of 4 machines and 4 segments the document prints no number.
TEST(FindMin, CountsTriedAndValidMatrices) {
  struct Row {
    std::int32_t n;
    std::int32_t m;
    std::int64_t tested;
    std::int64_t valid;
  };
  for (const Row& row :
       {Row{2, 3, 1, 1}, {3, 4, 256, 81}, {4, 2, 729, 256}, {5, 1, 256, 125}, {6, 1, 3125, 1296}}) {
    const FindMinResult found = *FindMinDestinations(row.n, row.m, {1, 1, 1});
    EXPECT_EQ(found.num_tested, row.tested) << row.n << " " << row.m;
    EXPECT_EQ(found.num_valid, row.valid) << row.n << " " << row.m;
  }
  const FindMinResult four = *FindMinDestinations(4, 4, {1, 1, 1});
  EXPECT_EQ(four.num_tested, 531'441);
  EXPECT_EQ(four.num_valid, 65'536);
  EXPECT_NEAR(four.makespan_s, 11, 1e-9);
  EXPECT_EQ(four.num_optimal, 8);
}

// The document's own example can be reduced in 3.4: its matrix form fixes the segments' order.
TEST(SegmentedExact, BeatsTheMatrixForm) {
  const Schedule schedule = *SegmentedExactSearch(3, 2, {0.1, 1, 0.3});
  EXPECT_NEAR(schedule.makespan_s, 3.4, 1e-9);
  EXPECT_EQ(ScheduleFault(schedule, {true, true, false}), "");
}

// All sequences of transfers, unpruned.
double Unpruned(std::vector<std::vector<bool>>& holds, std::vector<double> send,
                std::vector<double> receive, std::vector<double> combine,
                std::vector<std::vector<double>> ready, int left, const LinkCosts& costs) {
  if (left == 0) return *std::max_element(ready[0].begin(), ready[0].end());
  double best = 1e300;
  const std::size_t n = holds.size();
  for (std::size_t j = 0; j < holds[0].size(); ++j) {
    for (std::size_t f = 1; f < n; ++f) {
      for (std::size_t t = 0; holds[f][j] && t < n; ++t) {
        if (t == f || !holds[t][j]) continue;
        auto s2 = send, r2 = receive, c2 = combine;
        auto ready2 = ready;
        const double start = std::max({ready[f][j], send[f], receive[t] - costs.alpha_s, 0.0});
        s2[f] = start + costs.beta_s_per_unit;
        r2[t] = start + costs.alpha_s + costs.beta_s_per_unit;
        c2[t] = std::max(combine[t], r2[t]) + costs.gamma_s_per_unit;
        ready2[t][j] = c2[t];
        holds[f][j] = false;
        best = std::min(best, Unpruned(holds, s2, r2, c2, ready2, left - 1, costs));
        holds[f][j] = true;
      }
    }
  }
  return best;
}

TEST(SegmentedExact, EqualsTheUnprunedSearch) {
  for (const auto& [n, m] : {std::pair{2, 3}, {3, 1}, {3, 2}, {4, 1}}) {
    for (const LinkCosts costs :
         {LinkCosts{0.1, 1, 0.3}, {1.1, 1, 1.3}, {0, 1, 2}, {1, 1, 1}, {3, 2, 0}}) {
      std::vector<std::vector<bool>> holds(static_cast<std::size_t>(n),
                                           std::vector<bool>(static_cast<std::size_t>(m), true));
      const std::vector<double> zero(static_cast<std::size_t>(n), 0);
      const std::vector<std::vector<double>> ready(
          static_cast<std::size_t>(n), std::vector<double>(static_cast<std::size_t>(m), 0));
      EXPECT_NEAR(SegmentedExactSearch(n, m, costs)->makespan_s,
                  Unpruned(holds, zero, zero, zero, ready, (n - 1) * m, costs), 1e-9);
    }
  }
}

}  // namespace
}  // namespace weir::planner::tree
