// What figures 5 to 12 of 004 show, as numbers. docs/planner-load.md has the pictures.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "planner/load/source_program.h"
#include "tests/unit/planner_load/reference_chain.h"

namespace weir::planner::load {
namespace {

ChainSolution Solve(const Chain& chain) {
  absl::StatusOr<ChainSolution> solution = SolveLayerByLayer(chain, LayerMethod::kExact);
  EXPECT_TRUE(solution.ok()) << solution.status();
  return *std::move(solution);
}

Chain FirstReducers(double c, std::int32_t l) {
  Chain chain = ReferenceChain();
  chain.reducers[0].num_reducers = 10;
  chain.channel_seconds_per_byte = c;
  chain.channels = l;
  return chain;
}

Chain LateMappers(std::int32_t l, double c) {
  Chain chain = ReferenceChain();
  chain.num_mappers = 50;
  chain.map_startup_s = 1e4;
  chain.channels = l;
  chain.channel_seconds_per_byte = c;
  return chain;
}

/// Sizes of the groups of equal shares, `tolerance` relative apart.
std::vector<int> Groups(const std::vector<double>& share, double tolerance) {
  std::vector<int> sizes{1};
  for (std::size_t k = 1; k < share.size(); ++k) {
    if (std::abs(share[k] / share[k - 1] - 1) <= tolerance) {
      ++sizes.back();
    } else {
      sizes.push_back(1);
    }
  }
  return sizes;
}

double Speedup(double g0, double g1, std::int32_t mappers, std::int32_t reducers) {
  const auto time_s = [&](std::int32_t m, std::int32_t r1, std::int32_t r2) {
    Chain chain = ReferenceChain();
    chain.map_output_ratio = g0;
    chain.reducers[0].output_ratio = g1;
    chain.reducers[1].output_ratio = 1;
    chain.num_mappers = m;
    chain.reducers[0].num_reducers = r1;
    chain.reducers[1].num_reducers = r2;
    chain.channels = std::max({m, r1, r2});
    return Solve(chain).makespan_s;
  };
  return time_s(1, 1, 1) / time_s(mappers, reducers, 5);
}

TEST(FiguresTest, Figure5Speedup) {
  EXPECT_NEAR(Speedup(1e-3, 1e-3, 50, 5), 37.8, 0.05);
  EXPECT_NEAR(std::max(Speedup(1, 1e-3, 50, 5), Speedup(1, 1, 50, 5)), 5.3, 0.05);
  EXPECT_NEAR(Speedup(1, 1e-3, 5, 50), 45.9, 0.05);
  EXPECT_NEAR(Speedup(1, 1, 5, 50), 9.4, 0.05);
}

TEST(FiguresTest, Figure6LastReducersShare) {
  EXPECT_NEAR(Solve(FirstReducers(1e-5, 5)).layers[2].share.back(), 0.292, 5e-4);
  EXPECT_NEAR(Solve(FirstReducers(1e-4, 5)).layers[2].share.back(), 0.702, 5e-4);
}

TEST(FiguresTest, Figure6SharesOfAFastNetworkAreEqual) {
  const std::vector<double> share = Solve(FirstReducers(1e-8, 5)).layers[2].share;
  EXPECT_NEAR(share.back() / share.front(), 1.001, 5e-4);
}

TEST(FiguresTest, Figure7StepBetweenTheGroups) {
  const std::vector<double> fast = Solve(FirstReducers(1e-8, 5)).layers[1].share;
  EXPECT_NEAR(10 * (fast[5] - fast[4]), 2e-4, 0.5e-4);
  const std::vector<double> slow = Solve(FirstReducers(1e-4, 5)).layers[1].share;
  EXPECT_NE(Groups(slow, 1e-5), (std::vector<int>{5, 5}));
}

TEST(FiguresTest, Figure7GroupsOfFive) {
  for (const double c : {1e-9, 1e-8}) {
    const std::vector<double> share = Solve(FirstReducers(c, 5)).layers[1].share;
    // Between the groups the step is a hundred times any step inside one.
    double inside = 0;
    for (const std::size_t k : {1, 2, 3, 4, 6, 7, 8, 9})
      inside = std::max(inside, share[k] - share[k - 1]);
    EXPECT_GT(share[5] - share[4], 20 * inside);
  }
}

TEST(FiguresTest, Figure8OtherGroupsThanTheDocuments) {
  Chain chain = FirstReducers(1e-8, 5);
  chain.reducers[1].num_reducers = 4;
  EXPECT_EQ(Groups(Solve(chain).layers[1].share, 1e-5), (std::vector<int>{2, 4, 4}));
}

// Where the groups differ the makespans do not: both are optimal.
TEST(FiguresTest, Figures8And9MakespansOfTheDocumentsProgram) {
  std::vector<Chain> chains;
  for (const double c : {1e-8, 1e-7, 1e-5}) {
    chains.push_back(FirstReducers(c, 5));
    chains.back().reducers[1].num_reducers = 4;
  }
  for (const std::int32_t l : {3, 4}) chains.push_back(FirstReducers(1e-8, l));
  for (const Chain& chain : chains) {
    const absl::StatusOr<ChainSolution> paper = SolveLayerByLayer(chain, LayerMethod::kPaper);
    ASSERT_TRUE(paper.ok()) << paper.status();
    EXPECT_NEAR(Solve(chain).makespan_s / paper->makespan_s, 1, 1e-10);
  }
}

TEST(FiguresTest, Figure9GroupsOfAsManyAsChannels) {
  for (const std::int32_t l : {1, 2, 5}) {
    const std::vector<double> share = Solve(FirstReducers(1e-8, l)).layers[1].share;
    EXPECT_EQ(Groups(share, 1e-5), std::vector<int>(static_cast<std::size_t>(10 / l), l))
        << "l = " << l;
  }
}

TEST(FiguresTest, Figure10MappersOfALowStartUp) {
  const auto mappers = [](double c) {
    Chain chain = LateMappers(5, c);
    chain.map_startup_s = 1;
    return Solve(chain).layers[0].share;
  };
  for (const double c : {1e-9, 1e-8, 1e-7}) {
    EXPECT_EQ(Groups(mappers(c), 1e-4), std::vector<int>(10, 5)) << "C = " << c;
  }
  const std::vector<double> slow = mappers(1e-5);
  EXPECT_NEAR(std::accumulate(slow.end() - 5, slow.end(), 0.0), 0.91, 0.005);
}

TEST(FiguresTest, Figure11SawToothStep) {
  const std::vector<double> share = Solve(LateMappers(5, 1e-8)).layers[0].share;
  for (const std::size_t k : {46, 47, 48, 49})
    EXPECT_NEAR((share[k - 1] - share[k]) * 1e15, 0.99e11, 0.005e11);
  EXPECT_GT(share[5], share[4]);
}

TEST(FiguresTest, Figure12IncreasingPairsDecreasing) {
  const std::vector<double> one = Solve(LateMappers(1, 1e-8)).layers[0].share;
  EXPECT_TRUE(std::is_sorted(one.begin(), one.end()));
  const std::vector<double> two = Solve(LateMappers(2, 1e-8)).layers[0].share;
  for (std::size_t k = 0; k < two.size(); k += 2) EXPECT_GT(two[k], two[k + 1]);
  EXPECT_NEAR(two[48] / two[0], 1, 0.01);
  EXPECT_NEAR(50 * two[0], 1.002, 5e-4);
  EXPECT_NEAR(50 * two[1], 0.998, 5e-4);
  const std::vector<double> five = Solve(LateMappers(5, 1e-8)).layers[0].share;
  for (std::size_t k = 0; k + 5 < five.size(); k += 5) EXPECT_GT(five[k], five[k + 5]);
}

TEST(FiguresTest, Section44CountsOfTheProgram) {
  // R = 3, m = r_1 = r_2 = r_3 = 10, V = 2^30: 3184 rational and 100 binary variables, 4104
  // constraints.
  ProgramSize sum = MapperProgramSize(10, 10);
  for (const std::int64_t receivers : {10, 10, 1}) {
    const ProgramSize layer = ReducerProgramSize(10, receivers, std::ldexp(1.0, 30));
    sum.rational += layer.rational;
    sum.constraints += layer.constraints;
  }
  EXPECT_EQ(sum.rational, 3184);
  EXPECT_EQ(sum.binary, 100);
  EXPECT_EQ(sum.constraints, 4104);
}

}  // namespace
}  // namespace weir::planner::load
