// What figures 6 to 12 of 004 show, as numbers. docs/planner-load.md has the pictures.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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

TEST(FiguresTest, Figure6LastReducersShare) {
  EXPECT_NEAR(Solve(FirstReducers(1e-5, 5)).layers[2].share.back(), 0.292, 5e-4);
  EXPECT_NEAR(Solve(FirstReducers(1e-4, 5)).layers[2].share.back(), 0.702, 5e-4);
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

TEST(FiguresTest, Figure9GroupsOfAsManyAsChannels) {
  for (const std::int32_t l : {1, 2, 5}) {
    const std::vector<double> share = Solve(FirstReducers(1e-8, l)).layers[1].share;
    EXPECT_EQ(Groups(share, 1e-5), std::vector<int>(static_cast<std::size_t>(10 / l), l))
        << "l = " << l;
  }
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
