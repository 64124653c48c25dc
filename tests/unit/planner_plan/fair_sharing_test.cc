#include "planner/plan/predict/fair_sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::planner {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

TEST(FairSharingTest, ProgressiveFillingByHand) {
  // Resource 0 (capacity 6) carries flows 0, 1, 2; resource 1 (capacity 1) carries flow 2; resource
  // 2 (capacity 10) carries flow 3 and flow 0. Flow 2 stops at 1; flows 0 and 1 share the other 5;
  // flow 3 takes what flow 0 leaves.
  SharingProblem problem;
  problem.capacity = {6, 1, 10};
  problem.resource_begin = {0, 2, 3, 5, 6};
  problem.resources = {0, 2, 0, 0, 1, 2};
  std::vector<double> rates(4, 0);
  MaxMinRates(problem, {0, 1, 2, 3}, &rates);
  EXPECT_THAT(rates, ElementsAre(DoubleEq(2.5), DoubleEq(2.5), DoubleEq(1), DoubleEq(7.5)));
}

TEST(FairSharingTest, AFlowUsesBothPortsAndTheCutsThatItCrosses) {
  NetworkModel network;
  network.num_workers = 3;
  network.cuts = {{"up", {true, false, false}, {false, true, true}, 1},
                  {"down", {false, true, true}, {true, false, false}, 1}};
  SharingProblem problem;
  AddFlow(network, 0, 2, problem);
  AddFlow(network, 1, 2, problem);
  EXPECT_THAT(problem.resources, ElementsAre(0, 5, 6, 1, 5));
  EXPECT_THAT(problem.resource_begin, ElementsAre(0, 3, 5));
}

TEST(FairSharingTest, OnlyActiveFlowsTakePart) {
  SharingProblem problem;
  problem.capacity = {6};
  problem.resource_begin = {0, 1, 2, 3};
  problem.resources = {0, 0, 0};
  std::vector<double> rates(3, 9);
  MaxMinRates(problem, {0, 2}, &rates);
  EXPECT_THAT(rates, ElementsAre(3, 9, 3));
}

}  // namespace
}  // namespace weir::planner
