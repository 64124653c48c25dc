#include "planner/job/builders/tree_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "planner/job/builders/plan_job.h"
#include "planner/job/builders/tree_layer.h"
#include "planner/job/check_job.h"
#include "planner/plan/check_combined.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "tests/unit/planner_job/table_job.h"

namespace weir::planner {
namespace {

using ::testing::HasSubstr;

// 1 GB on `workers` hosts at 10 ns/B to map; tables of 100 MB from 250 MB, twice that from four
// times as much.
JobShape TableJob() {
  JobShape shape = TableJobOf(0.5, 250'000'000);
  shape.layers[0].reduce_seconds_per_byte.value = 2e-9;
  shape.layers[0].output_ratio.value = 0.5;
  return shape;
}

ClusterProfile ClusterOf(std::int32_t workers, double seconds_per_byte = 1e-8) {
  ClusterProfile cluster;
  cluster.workers.resize(static_cast<std::size_t>(workers));
  cluster.network.num_workers = workers;
  cluster.network.seconds_per_byte = seconds_per_byte;
  return cluster;
}

TreePlans TreesOf(const JobShape& shape, const ClusterProfile& cluster) {
  const Plan shuffle = *PlanJob(shape, cluster, PlanningOptions{PlanMethod::kEven});
  absl::StatusOr<TreePlans> trees = TreePlansOfJob(shape, cluster, shuffle);
  EXPECT_TRUE(trees.ok()) << trees.status();
  if (!trees.ok()) return {};
  EXPECT_EQ(CheckPlan(trees->plan), absl::OkStatus());
  EXPECT_DOUBLE_EQ(Predict(trees->plan)->makespan_s, trees->plan.summary.makespan_s);
  return *std::move(trees);
}

std::vector<ComputeStep> StepsOf(const Plan& plan, StepKind kind) {
  std::vector<ComputeStep> steps;
  std::copy_if(plan.steps.begin(), plan.steps.end(), std::back_inserter(steps),
               [&](const ComputeStep& step) { return step.kind == kind; });
  return steps;
}

// Two mappers of 500 MB make 141 MB each, of both together 200 MB: the root maps for 5 s, receives
// for 1.41 s, combines for 0.14 s and reduces 200 MB in 0.4 s.
TEST(TreePlanOfJobTest, TwoTablesMeetAtTheRoot) {
  JobShape shape = TableJob();
  const TreePlans trees = TreesOf(shape, ClusterOf(2));
  const auto greedy = std::find_if(
      trees.candidates.begin(), trees.candidates.end(),
      [](const JobCandidate& candidate) { return candidate.name.ends_with(", 1 segment"); });
  ASSERT_NE(greedy, trees.candidates.end());
  EXPECT_NEAR(greedy->makespan_s, 5 + 1.4142 * 1.1 + 0.4, 0.002);
  const std::vector<ComputeStep> reduce = StepsOf(trees.plan, StepKind::kReduce);
  ASSERT_EQ(reduce.size(), 1u);
  EXPECT_EQ(reduce[0].input_bytes, 200'000'000);
  // Half of what the mappers made before it was combined.
  EXPECT_NEAR(static_cast<double>(reduce[0].output_bytes), 141.42e6, 1e5);
}

TEST(TreePlanOfJobTest, EveryFamilyIsOffered) {
  const TreePlans trees = TreesOf(TableJob(), ClusterOf(8));
  std::set<std::string> families;
  for (const JobCandidate& candidate : trees.candidates) {
    families.insert(candidate.name.substr(0, candidate.name.find(',')));
  }
  for (const char* family :
       {"tree: greedy tree", "tree: round-optimal", "tree: interleaved", "tree: rabenseifner",
        "tree: reduce-scatter and gather", "tree: reversed greedy"}) {
    EXPECT_TRUE(families.contains(family)) << family;
  }
}

// Racks of every other worker behind one channel each way: no more than one element crosses it,
// whichever way the workers are numbered.
TEST(TreePlanOfJobTest, RacksCombineBeforeTheyCross) {
  JobShape shape = TableJob();
  ElementShape& element = shape.layers[0].element;
  element.kind = ElementShape::Kind::kVector;
  element.places = 1'000'000;
  element.place_bytes = 8;
  ClusterProfile cluster = ClusterOf(8, 1e-7);
  const std::vector<bool> even = {true, false, true, false, true, false, true, false};
  const std::vector<bool> odd = {false, true, false, true, false, true, false, true};
  cluster.network.cuts = {{"out", even, odd, 1}, {"in", odd, even, 1}};
  const TreePlans trees = TreesOf(shape, cluster);
  const std::string& best = trees.candidates.front().name;
  EXPECT_THAT(best, HasSubstr(", by racks, "));
  for (const Cut& cut : cluster.network.cuts) {
    Bytes crossing = 0;
    for (const Transfer& transfer : trees.plan.transfers) {
      if (cut.Crosses(transfer.sender, transfer.receiver)) crossing += transfer.bytes;
    }
    EXPECT_LE(crossing, 8'001'000) << cut.name << ", " << best;
  }
  // Those that know no racks wait for the one channel.
  const auto blind = std::find_if(trees.candidates.begin(), trees.candidates.end(),
                                  [](const JobCandidate& candidate) {
                                    return candidate.name.find("by racks") == std::string::npos;
                                  });
  ASSERT_NE(blind, trees.candidates.end());
  EXPECT_GT(blind->makespan_s, trees.candidates.front().makespan_s * 1.01);
}

TEST(TreePlanOfJobTest, EveryReducerAskedForIsARootWithKeysOfItsOwn) {
  JobShape shape = TableJob();
  shape.layers[0].num_reducers = 3;
  const TreePlans trees = TreesOf(shape, ClusterOf(4));
  const std::vector<ComputeStep> reduce = StepsOf(trees.plan, StepKind::kReduce);
  ASSERT_EQ(reduce.size(), 3u);
  std::set<WorkerIndex> workers;
  for (const ComputeStep& step : reduce) workers.insert(step.worker);
  EXPECT_EQ(workers.size(), 3u);
  EXPECT_EQ(reduce[0].key_end, reduce[1].key_begin);
  EXPECT_EQ(reduce[2].key_end, 1);
  EXPECT_EQ(reduce[0].input_bytes + reduce[1].input_bytes + reduce[2].input_bytes, 200'000'000);
}

TEST(TreePlanOfJobTest, AKeyHeavierThanASegmentLeavesEverySegmentAPlace) {
  LayerShape layer = TableJob().layers[0];
  const double atom = KeyWeights::kAtomWidth / 2;
  layer.key_weights = {{0.5, 0.5 + atom, 1}, {0.05, 0.9, 0.05}};
  const std::vector<std::int64_t> borders =
      SegmentBorders(layer, {0, layer.element.places}, {1, 1, 1, 1});
  ASSERT_EQ(borders.size(), 5u);
  EXPECT_EQ(borders.front(), 0);
  EXPECT_EQ(borders.back(), layer.element.places);
  for (std::size_t k = 1; k < borders.size(); ++k) EXPECT_GT(borders[k], borders[k - 1]);
  const std::vector<std::int64_t> few = SegmentBorders(layer, {7, 10}, {1, 1, 1});
  EXPECT_EQ(few, (std::vector<std::int64_t>{7, 8, 9, 10}));
}

TEST(TreePlanOfJobTest, VectorsAreExact) {
  JobShape shape = TableJob();
  shape.layers[0].element.kind = ElementShape::Kind::kVector;
  shape.layers[0].element.places = 1'000'003;
  shape.layers[0].element.place_bytes = 8;
  const TreePlans trees = TreesOf(shape, ClusterOf(5));
  for (const Section& section : trees.plan.sections) {
    EXPECT_EQ(section.bytes, (section.indexes->end - section.indexes->begin) * 8);
  }
  EXPECT_EQ(StepsOf(trees.plan, StepKind::kReduce)[0].input_bytes, 8 * 1'000'003);
}

TEST(TreePlanOfJobTest, WhatDoesNotSplitTravelsWhole) {
  JobShape shape = TableJob();
  shape.layers[0].element.splits = false;
  const TreePlans trees = TreesOf(shape, ClusterOf(6));
  for (const JobCandidate& candidate : trees.candidates) {
    EXPECT_THAT(candidate.name, HasSubstr(", 1 segment"));
  }
  shape.layers[0].num_reducers = 2;
  const Plan shuffle = *PlanJob(shape, ClusterOf(6), PlanningOptions{PlanMethod::kEven});
  EXPECT_THAT(std::string(TreePlansOfJob(shape, ClusterOf(6), shuffle).status().message()),
              HasSubstr("cannot be split among several trees"));
}

TEST(TreePlanOfJobTest, OperandsKeepTheirOrderWhereTheyHaveOne) {
  JobShape shape = TableJob();
  shape.layers[0].element.commutative = false;
  shape.num_mappers = 11;  // more than workers: neighbours share one
  const TreePlans trees = TreesOf(shape, ClusterOf(4));
  EXPECT_EQ(CheckOperandOrder(trees.plan), absl::OkStatus());
  EXPECT_EQ(StepsOf(trees.plan, StepKind::kMap).size(), 11u);
}

TEST(TreePlanOfJobTest, SmallCasesAreRightPlans) {
  JobShape empty = TableJob();
  empty.input_bytes = 0;
  EXPECT_EQ(StepsOf(TreesOf(empty, ClusterOf(3)).plan, StepKind::kReduce).size(), 1u);
  EXPECT_TRUE(TreesOf(TableJob(), ClusterOf(1)).plan.transfers.empty());
  JobShape one = TableJob();
  one.num_mappers = 1;
  EXPECT_TRUE(TreesOf(one, ClusterOf(3)).plan.transfers.empty());
  ClusterProfile wide = ClusterOf(3);
  wide.network = LimitedTotal(3, 1e-8, 50);  // more channels than workers
  EXPECT_EQ(StepsOf(TreesOf(TableJob(), wide).plan, StepKind::kReduce).size(), 1u);
  wide.network = LimitedTotal(3, 1e-8, 1);
  EXPECT_EQ(StepsOf(TreesOf(TableJob(), wide).plan, StepKind::kReduce).size(), 1u);
}

// 0.3 s + 0.2 s + 0.1 s is more for whoever begins with the last two.
TEST(TreePlanOfJobTest, TheBoundIsNotAboveThePlanThatMeetsIt) {
  JobShape shape = TableJob();
  shape.input_bytes = 0;
  shape.map_startup_s.value = 0.3;
  shape.layers.push_back(shape.layers[0]);
  shape.layers[0].startup_s.value = 0.2;
  shape.layers[1].startup_s.value = 0.1;
  const PlanSummary summary = TreesOf(shape, ClusterOf(1)).plan.summary;
  EXPECT_EQ(summary.makespan_s, 0.6);
  EXPECT_EQ(summary.lower_bound_s, summary.makespan_s);
}

TEST(TreePlanOfJobTest, MoreReducersThanWorkersArePlannedAndMoreThanPlacesRefused) {
  JobShape shape = TableJob();
  shape.layers[0].num_reducers = 7;
  for (const std::int32_t workers : {1, 2, 3}) {
    EXPECT_EQ(StepsOf(TreesOf(shape, ClusterOf(workers)).plan, StepKind::kReduce).size(), 7u);
  }
  shape.layers[0].element.kind = ElementShape::Kind::kVector;
  shape.layers[0].element.places = 6;
  shape.layers[0].element.place_bytes = 8;
  const Plan shuffle = *PlanJob(shape, ClusterOf(2), PlanningOptions{PlanMethod::kEven});
  EXPECT_THAT(std::string(TreePlansOfJob(shape, ClusterOf(2), shuffle).status().message()),
              HasSubstr("7 reducers what has 6 places"));
}

TEST(TreePlanOfJobTest, AnElementHasNoMorePlacesThanKeysTellApart) {
  JobShape shape = TableJob();
  ElementShape& element = shape.layers[0].element;
  element.kind = ElementShape::Kind::kVector;
  element.place_bytes = 1;
  element.places = kIndexPlacesMax + 1;
  EXPECT_THAT(
      std::string(
          PlanJob(shape, ClusterOf(2), PlanningOptions{PlanMethod::kEven}).status().message()),
      HasSubstr("at most 9007199254740992 of 1 bytes"));
  element.places = kIndexPlacesMax;
  EXPECT_EQ(CheckJobShape(shape), absl::OkStatus());
}

TEST(TreePlanOfJobTest, LaterLayersShuffleOrCombineAgain) {
  JobShape shape = TableJob();
  shape.layers.push_back(shape.layers[0]);
  shape.layers[0].num_reducers = 4;
  EXPECT_THAT(CombinedLayers(TreesOf(shape, ClusterOf(4)).plan), ::testing::ElementsAre(1, 2));
  shape.layers[1].element = {};
  shape.layers[1].num_reducers = 2;
  const Plan plan = TreesOf(shape, ClusterOf(4)).plan;
  EXPECT_THAT(CombinedLayers(plan), ::testing::ElementsAre(1));
  EXPECT_EQ(StepsOf(plan, StepKind::kReduce).size(), 6u);
}

TEST(TreePlanOfJobTest, OneFileIsStoredByAWriteStepAsEver) {
  JobShape shape = TableJob();
  shape.store.write = FinalWrite::kOne;
  shape.store.seconds_per_byte.value = 1e-9;
  const TreePlans trees = TreesOf(shape, ClusterOf(4));
  const std::vector<ComputeStep> write = StepsOf(trees.plan, StepKind::kWrite);
  ASSERT_EQ(write.size(), 1u);
  EXPECT_EQ(write[0].worker, StepsOf(trees.plan, StepKind::kReduce)[0].worker);
}

TEST(TreePlanOfJobTest, OneRootHasTheDiskForItself) {
  // Half of what it reads, at 100 MB/s, which takes longer than to reduce it.
  JobShape shape = TableJob();
  shape.store.disk_seconds_per_byte = 1e-8;
  const std::vector<ComputeStep> reduce =
      StepsOf(TreesOf(shape, ClusterOf(8)).plan, StepKind::kReduce);
  ASSERT_EQ(reduce.size(), 1u);
  EXPECT_NEAR(reduce[0].duration_s, 0.5e-8 * static_cast<double>(reduce[0].input_bytes), 1e-9);
}

TEST(TreePlanOfJobTest, SlowPortsAndWorkersAreKnown) {
  ClusterProfile cluster = ClusterOf(5);
  cluster.network.port_slowdown = {1, 4, 1, 2, 1};
  cluster.workers[2].compute_rate = 3;
  const TreePlans trees = TreesOf(TableJob(), cluster);
  EXPECT_EQ(StepsOf(trees.plan, StepKind::kReduce).size(), 1u);
  EXPECT_GT(trees.candidates.size(), 3u);
}

}  // namespace
}  // namespace weir::planner
