#include "planner/order/plan_assembly.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "planner/order/transfer_orders.h"
#include "planner/order/whole_bytes.h"
#include "planner/plan/check_plan.h"

namespace weir::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(WholeBytesTest, BordersAreRoundedNotParts) {
  EXPECT_THAT(WholeBytes(10, {1, 1, 1}), ElementsAre(3, 4, 3));
  EXPECT_THAT(WholeBytes(10, {0.25, 0.75}), ElementsAre(3, 7));
  EXPECT_THAT(WholeBytes(0, {1, 2}), ElementsAre(0, 0));
  EXPECT_THAT(WholeBytes(7, {0, 1, 0}), ElementsAre(0, 7, 0));
  EXPECT_THAT(WholeBytes(4, {0, 0}), ElementsAre(2, 2));
  EXPECT_THAT(WholeBytes(0, {}), IsEmpty());
}

TEST(WholeBytesTest, HugeTotalLosesNothing) {
  const Bytes total = 9'000'000'000'000'000'001;
  const std::vector<Bytes> parts = WholeBytes(total, std::vector<double>(7, 0.1));
  EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), Bytes{0}), total);
  for (const Bytes part : parts) EXPECT_NEAR(static_cast<double>(part), 9e18 / 7, 2e3);
}

LayerDraft EvenReducers(std::int32_t count) {
  LayerDraft layer;
  for (std::int32_t k = 0; k < count; ++k) layer.reducers.push_back({k, 1.0 / count});
  layer.reduce_seconds = [](WorkerIndex, Bytes bytes) { return static_cast<double>(bytes); };
  return layer;
}

NetworkModel OpenNetwork(std::int32_t num_workers) {
  NetworkModel network;
  network.num_workers = num_workers;
  network.seconds_per_byte = 1;
  return network;
}

TEST(PlanAssemblyTest, TwoLayersByHand) {
  PlanAssembly assembly(OpenNetwork(2));
  ASSERT_TRUE(assembly.AddMappers({{0, 50, 10, 0, 1}, {1, 50, 6, 0, 2}}).ok());
  LayerDraft layer = EvenReducers(2);
  layer.output_ratio = 0.5;
  ASSERT_TRUE(assembly.AddReducers(layer, {{0, 1}, {0, 0}, {1, 0}}).ok());
  ASSERT_TRUE(assembly.AddReducers(EvenReducers(1), {{1, 0}}).ok());
  Plan plan = assembly.TakePlan();
  ASSERT_EQ(OrderByPriority(&plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  // Sections 5, 5, 3, 3; reducers read 8 and make 4; the last reducer reads 4 in place and 4 over
  // the network.
  ASSERT_EQ(plan.transfers.size(), 3u);
  EXPECT_EQ(plan.transfers[0].bytes, 5);
  EXPECT_EQ(plan.transfers[1].bytes, 3);
  EXPECT_EQ(plan.transfers[2].bytes, 4);
  EXPECT_EQ(plan.steps[3].input_bytes, 8);
  EXPECT_EQ(plan.steps[4].after_steps, std::vector<StepIndex>{2});
  // Transfers 1..6 and 2..5; reducers 5..13 and 6..14; transfer 14..18; the last reducer 18..26.
  EXPECT_EQ(plan.summary.makespan_s, 26);
}

TEST(PlanAssemblyTest, PiecesDivideTheirSectionAndSharesOfNothingVanish) {
  PlanAssembly assembly(OpenNetwork(2));
  ASSERT_TRUE(assembly.AddMappers({{0, 8, 4, 0, 1}}).ok());
  LayerDraft layer = EvenReducers(1);
  layer.reducers[0].worker = 1;
  ASSERT_TRUE(assembly.AddReducers(layer, {{0, 0, 3}, {0, 0, 1e-9}, {0, 0, 1}}).ok());
  Plan plan = assembly.TakePlan();
  ASSERT_EQ(plan.transfers.size(), 2u);
  EXPECT_EQ(plan.transfers[0].bytes, 3);
  EXPECT_EQ(plan.transfers[1].offset, 3);
  EXPECT_EQ(plan.transfers[1].bytes, 1);
}

TEST(PlanAssemblyTest, EmptyJobStillSendsEverySection) {
  PlanAssembly assembly(OpenNetwork(2));
  ASSERT_TRUE(assembly.AddMappers({{0, 0, 0, 0, 0}, {1, 0, 0, 0, 0}}).ok());
  ASSERT_TRUE(assembly.AddReducers(EvenReducers(2), {}).ok());
  Plan plan = assembly.TakePlan();
  EXPECT_EQ(plan.transfers.size(), 2u);
  ASSERT_EQ(OrderByPriority(&plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
}

TEST(PlanAssemblyTest, BadDraftsAreNamed) {
  const auto message = [](const absl::Status& status) { return std::string(status.message()); };
  PlanAssembly assembly(OpenNetwork(2));
  EXPECT_THAT(message(assembly.AddReducers(EvenReducers(1), {})), HasSubstr("follow AddMappers"));
  EXPECT_THAT(message(assembly.AddMappers({})), HasSubstr("bring a mapper"));
  EXPECT_THAT(message(assembly.AddMappers({{2, 1, 1, 0, 0}})), HasSubstr("worker 2 of 2"));
  EXPECT_THAT(message(assembly.AddMappers({{0, -1, 1, 0, 0}})), HasSubstr("input_bytes -1"));
  ASSERT_TRUE(assembly.AddMappers({{0, 1, 1, 0, 0}}).ok());
  EXPECT_THAT(message(assembly.AddReducers(EvenReducers(3), {})), HasSubstr("worker 2 of 2"));
  EXPECT_THAT(message(assembly.AddReducers(EvenReducers(2), {{0, 5}})),
              HasSubstr("consumer 5 of 2"));
}

}  // namespace
}  // namespace weir::planner
