// Write steps and their limited store: by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "planner/explain/explain.h"
#include "planner/explain/plan_limits.h"
#include "planner/order/order_bound.h"
#include "planner/order/order_store.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

NetworkModel Network(std::int32_t num_workers) {
  NetworkModel network;
  network.num_workers = num_workers;
  network.seconds_per_byte = 1;
  return network;
}

Seconds Nothing(WorkerIndex /*worker*/, Bytes /*bytes*/) { return 0; }
Seconds OneSecondAByte(Bytes bytes) { return static_cast<double>(bytes); }

// All on worker 0 until the last layer, whose reducers get 3, 3 and 6 bytes on workers 0, 1, 2 and
// take 1, 2 and 3 seconds. Worker 0 sends 3 bytes, then 6: they end at 1, 5 and 12.
Plan StoredPlan(const std::vector<WorkerIndex>& writers) {
  const std::int32_t n = 3;
  PlanAssembly assembly(Network(n));
  std::vector<MapperDraft> mappers;
  for (WorkerIndex worker = 0; worker < n; ++worker) mappers.push_back({worker, 4, 0, 0, 0});
  mappers[0].output_bytes = 12;
  EXPECT_EQ(assembly.AddMappers(mappers), absl::OkStatus());
  LayerDraft layer;
  layer.reducers = {{0, 1.0 / 3}, {0, 1.0 / 3}, {0, 1.0 / 3}};
  layer.output_ratio = 1;
  layer.reduce_seconds = Nothing;
  EXPECT_EQ(assembly.AddReducers(layer, {}), absl::OkStatus());
  LayerDraft last;
  last.reducers = {{0, 0.25}, {1, 0.25}, {2, 0.5}};
  last.output_ratio = 1;
  last.reduce_seconds = [](WorkerIndex worker, Bytes /*bytes*/) { return 1.0 + worker; };
  // All for worker 1, then all for worker 2.
  EXPECT_EQ(assembly.AddReducers(last, {{0, 1}, {1, 1}, {2, 1}, {0, 2}, {1, 2}, {2, 2}}),
            absl::OkStatus());
  EXPECT_EQ(assembly.AddStore({writers, OneSecondAByte, 100}), absl::OkStatus());
  Plan plan = assembly.TakePlan();
  EXPECT_EQ(OrderByPriority(&plan), absl::OkStatus());
  return plan;
}

std::vector<Seconds> WriteStarts(const Plan& plan) {
  std::vector<Seconds> starts;
  for (const ComputeStep& step : plan.steps) {
    if (step.kind == StepKind::kWrite) starts.push_back(step.start_s);
  }
  return starts;
}

TEST(StoreTest, WithoutALimitEachWritesWhenItHasReduced) {
  Plan plan = StoredPlan({0, 1, 2});
  ASSERT_EQ(OrderStore(0, &plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_THAT(WriteStarts(plan), ElementsAre(1, 5, 12));
  EXPECT_DOUBLE_EQ(plan.summary.makespan_s, 18);
}

TEST(StoreTest, OneChannelWritesOneAtATimeInTheOrderOfReadiness) {
  Plan plan = StoredPlan({0, 1, 2});
  for (ComputeStep& step : plan.steps) {
    if (step.kind == StepKind::kWrite) step.duration_s = 10;
  }
  ASSERT_EQ(OrderStore(1, &plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_THAT(plan.store_order, ElementsAre(ElementsAre(9, 10, 11)));
  EXPECT_THAT(WriteStarts(plan), ElementsAre(1, 11, 21));
  // 1 s until the first may write, then 30 s of one channel.
  EXPECT_DOUBLE_EQ(*OrderBound(plan), 31);
  EXPECT_EQ(FindLimits(plan).limit, Limit::kStore);
  EXPECT_DOUBLE_EQ(FindLimits(plan).store_s, 30);

  ASSERT_EQ(OrderStore(2, &plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_EQ(plan.store_order.size(), 2U);
  EXPECT_LT(plan.summary.makespan_s, 31);
}

TEST(StoreTest, ChannelsShareWritesThatAreReadyAtOneMoment) {
  PlanAssembly assembly(Network(4));
  ASSERT_EQ(assembly.AddMappers({{0, 8, 0, 0, 0}}), absl::OkStatus());
  LayerDraft layer;
  layer.reducers = {{0, 0.25}, {1, 0.25}, {2, 0.25}, {3, 0.25}};
  layer.reduce_seconds = [](WorkerIndex, Bytes) { return 10.0; };
  ASSERT_EQ(assembly.AddReducers(layer, {}), absl::OkStatus());
  ASSERT_EQ(assembly.AddStore({{0, 1, 2, 3}, [](Bytes) { return 1.0; }, 0}), absl::OkStatus());
  Plan plan = assembly.TakePlan();
  ASSERT_EQ(OrderByPriority(&plan), absl::OkStatus());
  ASSERT_EQ(OrderStore(2, &plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_THAT(WriteStarts(plan), ElementsAre(10, 10, 11, 11));
  EXPECT_DOUBLE_EQ(plan.summary.makespan_s, 12);
}

/// One map without output, reducers on these workers, each stored by its own worker; the plan is
/// ordered for `channels` of the store.
Plan Stored(const std::vector<WorkerIndex>& workers, Seconds (*reduce_s)(WorkerIndex),
            Seconds write_s, std::int32_t channels) {
  PlanAssembly assembly(Network(3));
  EXPECT_EQ(assembly.AddMappers({{0, 8, 0, 0, 0}}), absl::OkStatus());
  LayerDraft layer;
  for (const WorkerIndex worker : workers) {
    layer.reducers.push_back({worker, 1.0 / static_cast<double>(workers.size())});
  }
  layer.reduce_seconds = [reduce_s](WorkerIndex worker, Bytes) { return reduce_s(worker); };
  EXPECT_EQ(assembly.AddReducers(layer, {}), absl::OkStatus());
  EXPECT_EQ(assembly.AddStore({workers, [write_s](Bytes) { return write_s; }, 0}),
            absl::OkStatus());
  Plan plan = assembly.TakePlan();
  EXPECT_EQ(OrderByPriority(&plan), absl::OkStatus());
  EXPECT_EQ(OrderStore(channels, &plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  return plan;
}

TEST(StoreTest, WhoIsReadySoonerWritesSoonerWhateverItsNumber) {
  const Plan plan = Stored(
      {0, 1, 2}, [](WorkerIndex worker) { return worker == 0   ? 1.0
                                                 : worker == 1 ? 3.0
                                                               : 2.0; }, 10,
      1);
  EXPECT_THAT(plan.store_order, ElementsAre(ElementsAre(4, 6, 5)));
  EXPECT_THAT(WriteStarts(plan), ElementsAre(1, 21, 11));
}

TEST(StoreTest, TheSecondWriteOfAWorkerLeavesItsChannelToOthers) {
  const Plan plan = Stored(
      {0, 0, 1}, [](WorkerIndex worker) { return worker == 0 ? 5.0 : 10.0; }, 1, 2);
  EXPECT_THAT(WriteStarts(plan), ElementsAre(10, 11, 10));
}

TEST(StoreTest, OneWriterWaitsForAllAndKeepsTheirOrder) {
  Plan plan = StoredPlan({2});
  ASSERT_EQ(OrderStore(1, &plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  const ComputeStep& write = plan.steps.back();
  EXPECT_EQ(write.kind, StepKind::kWrite);
  EXPECT_EQ(write.input_bytes, 12);
  EXPECT_EQ(write.output_bytes, 12);
  // Worker 2 receives its own input until 9, then 3 bytes of each other reducer.
  EXPECT_DOUBLE_EQ(write.start_s, 15);
  EXPECT_DOUBLE_EQ(plan.summary.makespan_s, 27);
  EXPECT_EQ(write.after_transfers.size(), 2U);
  EXPECT_EQ(plan.transfers[static_cast<std::size_t>(write.after_transfers[0])].sender, 0);
}

TEST(StoreTest, AskedForByStartTheStoreComesLast) {
  Plan plan = StoredPlan({2});
  ASSERT_EQ(OrderByStart(&plan), absl::OkStatus());
  ASSERT_EQ(OrderStore(1, &plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
}

TEST(StoreTest, ExplainNamesLayersAndTheStore) {
  Plan plan = StoredPlan({0, 1, 2});
  ASSERT_EQ(OrderStore(2, &plan), absl::OkStatus());
  const Prediction prediction = *Predict(plan);
  // Lines of the critical path are broken anywhere.
  const std::string text =
      absl::StrReplaceAll(ExplainText(plan, prediction, nullptr, {}), {{"\n    ", " "}});
  EXPECT_THAT(text, HasSubstr("keys by layer"));
  EXPECT_THAT(text, HasSubstr("100.0 % / 25.0 %"));
  EXPECT_THAT(text, HasSubstr("layer 2 reduce 2 on worker 2"));
  EXPECT_THAT(text, HasSubstr("write 2 on worker 2"));
  const std::string picture = GanttSvg(plan, prediction, nullptr, {});
  EXPECT_THAT(picture, HasSubstr("store"));
  EXPECT_THAT(ExplainJson(plan, prediction, nullptr, {}), HasSubstr("\"store_channels\": 2"));
}

TEST(StoreTest, FetchAllKeepsTheLimit) {
  Plan plan = StoredPlan({0, 1, 2});
  ASSERT_EQ(OrderStore(1, &plan), absl::OkStatus());
  ASSERT_EQ(OrderFetchAll(&plan), absl::OkStatus());
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_GE(WriteStarts(plan)[1], WriteStarts(plan)[0] + 3);
}

struct Spoiling {
  const char* message;
  void (*spoil)(Plan&);
};

class SpoiledStoreTest : public ::testing::TestWithParam<Spoiling> {};

TEST_P(SpoiledStoreTest, IsNoticed) {
  Plan plan = StoredPlan({0, 1, 2});
  ASSERT_EQ(OrderStore(2, &plan), absl::OkStatus());
  GetParam().spoil(plan);
  EXPECT_THAT(std::string(CheckPlan(plan).message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Ways, SpoiledStoreTest,
    ::testing::Values(
        Spoiling{"store_order has 2 channels; store_channels is 1",
                 [](Plan& p) { p.store_channels = 1; }},
        Spoiling{"store_order lacks write step", [](Plan& p) { p.store_order.back().pop_back(); }},
        Spoiling{"which is no write step", [](Plan& p) { p.store_order[0][0] = 0; }},
        Spoiling{"twice", [](Plan& p) { p.store_order[0].push_back(p.store_order[0][0]); }},
        Spoiling{"Limit of the store is broken",
                 [](Plan& p) {
                   p.store_channels = 1;
                   p.store_order = {{9, 10, 11}};
                   p.steps[9].start_s = 4.5;  // until 7.5, while step 10 writes from 5 on
                 }},
        Spoiling{"its sections hold 3", [](Plan& p) { p.steps[10].output_bytes = 4; }},
        Spoiling{"of output, but 1 of them are written",
                 [](Plan& p) {
                   for (Section& section : p.sections) {
                     if (section.consumer == 11) section.bytes = 1;
                   }
                 }},
        Spoiling{"is written and read by another step",
                 [](Plan& p) {
                   // Reducer 1 of the last layer also feeds a combine step on its worker.
                   ComputeStep combine;
                   combine.kind = StepKind::kCombine;
                   combine.worker = 1;
                   combine.layer = 2;
                   combine.start_s = p.summary.makespan_s;
                   combine.after_steps = {7};
                   p.steps.push_back(combine);
                   p.compute_order[1].push_back(12);
                   p.sections.push_back({7, 12, 0});
                 }},
        Spoiling{"must be numbered from 0", [](Plan& p) { p.steps[11].index_in_layer = 1; }},
        Spoiling{"writes layer 7 but reads reduce step 6", [](Plan& p) {
                   for (ComputeStep& step : p.steps) {
                     if (step.kind == StepKind::kWrite) step.layer = 7;
                   }
                 }}));

TEST(PlanAssemblyStoreTest, RefusesWhatIsOutOfRange) {
  PlanAssembly empty(Network(2));
  EXPECT_THAT(std::string(empty.AddStore({{0}, OneSecondAByte, 0}).message()),
              HasSubstr("must follow AddReducers"));
  PlanAssembly assembly(Network(2));
  ASSERT_EQ(assembly.AddMappers({{0, 1, 1, 0, 0}}), absl::OkStatus());
  LayerDraft layer;
  layer.reducers = {{0, 0.4}, {0, 0.3}, {1, 0.3}};
  layer.reduce_seconds = Nothing;
  ASSERT_EQ(assembly.AddReducers(layer, {}), absl::OkStatus());
  EXPECT_THAT(std::string(assembly.AddStore({{0, 1}, OneSecondAByte, 0}).message()),
              HasSubstr("2 writers for 3 reducers"));
  EXPECT_THAT(std::string(assembly.AddStore({{5}, OneSecondAByte, 0}).message()),
              HasSubstr("worker 5 of 2"));
}

}  // namespace
}  // namespace weir::planner
