#include "planner/job/builders/loop_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "planner/plan/check_loops.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/predict/predict.h"
#include "tests/unit/planner_job/random_job.h"

namespace weir::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

JobShape SmallShape() {
  JobShape shape;
  shape.job = "kmeans";
  shape.input_bytes = 80;
  shape.map_seconds_per_byte.value = 1;
  shape.layers = {LayerShape()};
  return shape;
}

LoopShape SmallLoop() {
  LoopShape loop;
  loop.iterations = 2;
  loop.element_places = 4;
  loop.element_place_bytes = 1;
  loop.state_places = 2;
  loop.state_place_bytes = 1;
  loop.iterate_seconds_per_byte = 0.5;
  loop.combine_seconds_per_byte = 0.25;
  loop.update_seconds_per_byte = 0.75;
  return loop;
}

ClusterProfile SmallCluster(std::int32_t num_workers) {
  ClusterProfile cluster;
  cluster.workers.resize(static_cast<std::size_t>(num_workers));
  cluster.network.num_workers = num_workers;
  cluster.network.seconds_per_byte = 1;
  return cluster;
}

std::int64_t CountOf(const Plan& plan, StepKind kind) {
  return std::count_if(plan.steps.begin(), plan.steps.end(),
                       [&](const ComputeStep& step) { return step.kind == kind; });
}

TEST(LoopPlanTest, TwoWorkersByHand) {
  // Maps 0..40; the element of 4 bytes travels 40..44, is combined 44..45, updated 45..48. The
  // state of 2 bytes travels 48..50 while the root maps 48..68; the other maps 50..70. Then 5 s of
  // travel and combining, 3 s of update: 78. Once more the same: 30 s later, 108.
  LoopShape loop = SmallLoop();
  loop.splits = loop.first_splits = false;
  const absl::StatusOr<Plan> plan = LoopPlan(SmallShape(), loop, SmallCluster(2));
  ASSERT_EQ(plan.status(), absl::OkStatus());
  EXPECT_EQ(CheckPlan(*plan), absl::OkStatus());
  EXPECT_EQ(plan->summary.method, "loop");
  EXPECT_EQ(plan->transfer_order, TransferOrder::kStrict);
  EXPECT_DOUBLE_EQ(plan->summary.makespan_s, 108);
  EXPECT_EQ(CountOf(*plan, StepKind::kMap), 2);
  EXPECT_EQ(CountOf(*plan, StepKind::kIterate), 4);
  EXPECT_EQ(CountOf(*plan, StepKind::kUpdate), 3);
  EXPECT_EQ(CountOf(*plan, StepKind::kCombine), 3 + 2);
  EXPECT_EQ(CountOf(*plan, StepKind::kReduce), 1);
  const std::string notes = absl::StrJoin(plan->summary.notes, "\n");
  EXPECT_THAT(notes, HasSubstr("the first pass: map 40.0 s, combine 5.00 s, update 3.00 s, "
                               "broadcast 2.00 s."));
  EXPECT_THAT(notes, HasSubstr("Each iteration: map 20.0 s, combine 5.00 s, update 3.00 s, "
                               "broadcast 2.00 s."));
}

TEST(LoopPlanTest, OneWorkerSendsNothing) {
  const Plan plan = *LoopPlan(SmallShape(), SmallLoop(), SmallCluster(1));
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_TRUE(plan.transfers.empty());
  EXPECT_EQ(CountOf(plan, StepKind::kCombine), 0);
  EXPECT_DOUBLE_EQ(plan.summary.makespan_s, 80 + 3 + 2 * (40 + 3));
}

TEST(LoopPlanTest, FewMappersAreOnTheFastestWorkers) {
  // A fifth of 80 bytes on worker 0, the rest on worker 3: 16 s each.
  JobShape shape = SmallShape();
  shape.num_mappers = 2;
  shape.map_seconds_per_byte.value = 2;
  ClusterProfile cluster = SmallCluster(4);
  cluster.workers[0].compute_rate = 2;
  cluster.workers[3].compute_rate = 8;
  LoopShape loop = SmallLoop();
  loop.commutative = true;
  const auto workers_of = [&](StepKind kind) {
    const Plan plan = *LoopPlan(shape, loop, cluster);
    EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
    std::vector<WorkerIndex> workers;
    for (const ComputeStep& step : plan.steps) {
      if (step.kind == StepKind::kMap) {
        EXPECT_DOUBLE_EQ(step.duration_s, 16);
      }
      if (step.kind == kind && step.layer == 0) workers.push_back(step.worker);
    }
    return workers;
  };
  EXPECT_THAT(workers_of(StepKind::kMap), ElementsAre(0, 3));
  EXPECT_THAT(workers_of(StepKind::kUpdate), ElementsAre(3));
  cluster.network.port_slowdown = {1, 1, 1, 2};
  EXPECT_THAT(workers_of(StepKind::kMap), ElementsAre(0, 3));
  EXPECT_THAT(workers_of(StepKind::kUpdate), ElementsAre(0)) << "its port is faster";
}

TEST(LoopPlanTest, WithoutIterationsTheFirstPassIsAll) {
  LoopShape loop = SmallLoop();
  loop.iterations = 0;
  const Plan plan = *LoopPlan(SmallShape(), loop, SmallCluster(3));
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_EQ(CountOf(plan, StepKind::kUpdate), 1);
  EXPECT_EQ(CountOf(plan, StepKind::kIterate), 0);
}

TEST(LoopPlanTest, EmptyInputHasAPlan) {
  JobShape shape = SmallShape();
  shape.input_bytes = 0;
  EXPECT_EQ(CheckPlan(*LoopPlan(shape, SmallLoop(), SmallCluster(3))), absl::OkStatus());
}

TEST(LoopPlanTest, ManyWorkersAreNotFoldedAllToOne) {
  // 16 elements of 4 bytes one after the other take 60 s at the root's port; a tree takes less.
  const Plan plan = *LoopPlan(SmallShape(), SmallLoop(), SmallCluster(16));
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_LT(plan.summary.makespan_s, 5 + 3 * (15 * 4 + 1) + 2 * 2.5 + 3 * 3);
  const std::string notes = absl::StrJoin(plan.summary.notes, "\n");
  EXPECT_THAT(notes, HasSubstr("all to one and one to all"));
  EXPECT_THAT(notes, HasSubstr("Folding one element by each family: "));
}

// Elements and states of 8 places, one byte each, 1 s a byte; nothing else takes time.
LoopShape ElementWiseLoop() {
  LoopShape loop;
  loop.iterations = 1;
  loop.element_places = loop.state_places = 8;
  loop.element_place_bytes = loop.state_place_bytes = 1;
  loop.element_wise = true;
  loop.iterate_seconds_per_byte = 0.5;
  loop.combine_seconds_per_byte = loop.update_seconds_per_byte = 0;
  return loop;
}

TEST(LoopPlanTest, FourWorkersFoldAndTellTheirRangesByHand) {
  // Maps 0..20. Each sends three others their 2 places, 20..26, gets three ranges of the state,
  // 26..32, maps 32..42, and sends its element, 42..48; a part each. Trees bring 8 places through
  // the root's port at least twice an iteration.
  const Plan plan = *LoopPlan(SmallShape(), ElementWiseLoop(), SmallCluster(4));
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_DOUBLE_EQ(plan.summary.makespan_s, 48);
  EXPECT_EQ(CountOf(plan, StepKind::kUpdate), 2 * 4);
  EXPECT_EQ(CountOf(plan, StepKind::kCombine), 0);
  EXPECT_EQ(CountOf(plan, StepKind::kReduce), 4);
  EXPECT_EQ(plan.transfers.size(), 3u * 12);
  const std::string notes = absl::StrJoin(plan.summary.notes, "\n");
  EXPECT_THAT(notes, HasSubstr("Combined by reduce-scatter and all-gather, 1 range a mapper; "));
  EXPECT_THAT(notes, HasSubstr("the first pass: map 20.0 s, combine 6.00 s, update 0 s, "
                               "all-gather 6.00 s."));
  EXPECT_THAT(notes, HasSubstr("until all have the state: reduce-scatter and all-gather, 1 range a "
                               "mapper 12.0 s"));
}

TEST(LoopPlanTest, SlowPortsUpdateFewerPlaces) {
  ClusterProfile cluster = SmallCluster(3);
  cluster.network.port_slowdown = {1, 1, 2};
  LoopShape loop = ElementWiseLoop();
  loop.element_places = loop.state_places = 500;
  const Plan plan = *LoopPlan(SmallShape(), loop, cluster);
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  std::vector<Bytes> made(3, 0);
  for (const ComputeStep& step : plan.steps) {
    if (step.kind == StepKind::kUpdate && step.layer == 0) {
      made[static_cast<std::size_t>(step.worker)] += step.output_bytes;
    }
  }
  EXPECT_EQ(made, (std::vector<Bytes>{200, 200, 100}));
}

// Families for unequal ports fold whole elements: one port that is hardly slower left nothing in
// segments.
TEST(LoopPlanTest, OneSlowPortLeavesSegments) {
  ClusterProfile cluster = SmallCluster(16);
  cluster.network.latency_s = 0.01;
  LoopShape loop = SmallLoop();
  loop.commutative = true;
  loop.splits = loop.first_splits = true;
  loop.element_places = 4000;
  loop.combine_seconds_per_byte = 0.05;
  const Plan equal = *LoopPlan(SmallShape(), loop, cluster);
  cluster.network.port_slowdown.assign(16, 1);
  cluster.network.port_slowdown[5] = 1.1;
  const Plan plan = *LoopPlan(SmallShape(), loop, cluster);
  EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
  EXPECT_NEAR(Predict(plan)->makespan_s, plan.summary.makespan_s, 1e-6 * plan.summary.makespan_s);
  EXPECT_LT(plan.summary.makespan_s, 1.2 * equal.summary.makespan_s);
}

// Each combine step folds elements of neighbouring mappers, in their order, and the update gets
// all.
void ExpectOrderOfMappers(const Plan& plan) {
  constexpr std::int32_t kNone = -1;
  std::vector<std::int32_t> first(plan.steps.size(), kNone), last(plan.steps.size(), kNone);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const ComputeStep& step = plan.steps[s];
    const bool maps = step.kind == StepKind::kMap || step.kind == StepKind::kIterate;
    if (maps) first[s] = last[s] = step.index_in_layer;
    if (!step.kind->combines && step.kind != StepKind::kUpdate) continue;
    for (const Section& section : plan.sections) {
      const auto producer = static_cast<std::size_t>(section.producer);
      if (static_cast<std::size_t>(section.consumer) != s || first[producer] == kNone) continue;
      if (first[s] == kNone) {
        first[s] = first[producer];
      } else {
        EXPECT_EQ(first[producer], last[s] + 1) << "step " << s;
      }
      last[s] = last[producer];
    }
    if (step.kind != StepKind::kUpdate) continue;
    EXPECT_EQ(first[s], 0);
    EXPECT_EQ(last[s], 4);
    first[s] = last[s] = kNone;  // a state
  }
}

TEST(LoopPlanTest, WhatDoesNotCommuteIsFoldedInTheOrderOfTheMappers) {
  ClusterProfile cluster = SmallCluster(5);
  cluster.network.port_slowdown = {2, 2, 1, 2, 2};
  LoopShape loop = SmallLoop();
  loop.splits = loop.first_splits = false;
  for (const LoopWays ways : {LoopWays::kAll, LoopWays::kAllToOne}) {
    const Plan plan = *LoopPlan(SmallShape(), loop, cluster, ways);
    EXPECT_EQ(CheckPlan(plan), absl::OkStatus());
    ExpectOrderOfMappers(plan);
  }
}

TEST(LoopPlanTest, WaysCanBeLeftOut) {
  const LoopShape loop = ElementWiseLoop();
  const Plan root = *LoopPlan(SmallShape(), loop, SmallCluster(4), LoopWays::kRoot);
  EXPECT_EQ(CountOf(root, StepKind::kReduce), 1);
  EXPECT_EQ(CheckPlan(root), absl::OkStatus());
  const Plan one = *LoopPlan(SmallShape(), loop, SmallCluster(4), LoopWays::kAllToOne);
  EXPECT_EQ(CheckPlan(one), absl::OkStatus());
  // 20 + 24 + 24, then three states wait at the root's port, the last mapper 10 s more, 8 s for it.
  EXPECT_GE(one.summary.makespan_s, 20 + 24 + 24 + 10 + 8);
  EXPECT_THAT(absl::StrJoin(one.summary.notes, "\n"), HasSubstr("Combined by all to one"));
  LoopShape whole = loop;
  whole.element_wise = false;
  EXPECT_THAT(absl::StrJoin(LoopPlan(SmallShape(), whole, SmallCluster(4))->summary.notes, "\n"),
              HasSubstr("Not folded and updated by ranges: an update needs the whole state."));
}

TEST(LoopPlanTest, RangesNeedAStateOfTheElementsPlaces) {
  LoopShape loop = ElementWiseLoop();
  loop.state_places = 9;
  EXPECT_THAT(std::string(LoopPlan(SmallShape(), loop, SmallCluster(2)).status().message()),
              HasSubstr("LoopShape.element_wise needs as many places"));
}

TEST(LoopPlanTest, WrongShapesAreRefusedByName) {
  LoopShape loop = SmallLoop();
  loop.iterations = kIterationsMax + 1;
  EXPECT_THAT(std::string(LoopPlan(SmallShape(), loop, SmallCluster(2)).status().message()),
              HasSubstr("LoopShape.iterations is 10001; must be 0 to 10000"));
  loop = SmallLoop();
  loop.element_places = 0;
  EXPECT_THAT(std::string(LoopPlan(SmallShape(), loop, SmallCluster(2)).status().message()),
              HasSubstr("LoopShape.element_places is 0"));
  loop = SmallLoop();
  loop.iterations = kIterationsMax;
  EXPECT_THAT(std::string(LoopPlan(SmallShape(), loop, SmallCluster(64)).status().message()),
              HasSubstr("10000 iterations on 64 workers need a plan of about"));
}

LoopShape DrawLoop(std::int32_t iterations_min) {
  LoopShape loop;
  loop.iterations = *rc::gen::inRange(iterations_min, 4);
  loop.element_places = *rc::gen::inRange<std::int64_t>(1, 50);
  loop.element_place_bytes = *rc::gen::inRange<Bytes>(1, 9);
  loop.state_places = *rc::gen::inRange<std::int64_t>(1, 50);
  loop.state_place_bytes = *rc::gen::inRange<Bytes>(1, 9);
  loop.splits = *rc::gen::arbitrary<bool>();
  loop.first_splits = loop.splits && *rc::gen::arbitrary<bool>();
  loop.commutative = *rc::gen::arbitrary<bool>();
  loop.iterate_seconds_per_byte = *rc::gen::element(0.0, 0.5, 3.0);
  loop.combine_seconds_per_byte = *rc::gen::element(0.0, 0.25, 2.0);
  loop.step_overhead_s = *rc::gen::element(0.0, 1.0);
  if (*rc::gen::arbitrary<bool>()) {
    loop.element_wise = loop.splits = loop.first_splits = true;
    loop.state_places = loop.element_places;
  }
  return loop;
}

Plan DrawLoopPlan(std::int32_t iterations_min) {
  RandomJob job = DrawJob(JobKind::kAny);
  job.shape.input_bytes %= 1'000'000;
  job.shape.uncut.clear();
  const absl::StatusOr<Plan> plan = LoopPlan(job.shape, DrawLoop(iterations_min), job.cluster);
  RC_ASSERT(plan.status() == absl::OkStatus());
  return *plan;
}

RC_GTEST_PROP(LoopPlanProperty, IsFeasibleAndPredicted, ()) {
  const Plan plan = DrawLoopPlan(0);
  const absl::Status checked = CheckPlan(plan);
  if (!checked.ok()) RC_FAIL(std::string(checked.message()));
  RC_ASSERT(Predict(plan)->makespan_s == plan.summary.makespan_s);
}

// Whatever of its sections is lost, doubled, cut short or read by another step of the loop, the
// plan is refused.
RC_GTEST_PROP(LoopPlanProperty, BrokenSectionsAreCaught, ()) {
  // A single iteration says by itself how many places there are.
  Plan plan = DrawLoopPlan(1);
  const auto at = static_cast<std::size_t>(
      *rc::gen::inRange<std::int64_t>(0, static_cast<std::int64_t>(plan.sections.size())));
  Section& section = plan.sections[at];
  RC_PRE(section.indexes->end > section.indexes->begin);
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      plan.sections.erase(plan.sections.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      section.indexes->end -= 1;
      break;
    case 2:
      section.indexes->begin += 1;
      break;
    default: {
      // Another of the loop's results is folded in its place.
      const StepIndex other = static_cast<StepIndex>(
          *rc::gen::inRange<std::int64_t>(0, static_cast<std::int64_t>(plan.steps.size())));
      RC_PRE(other != section.producer);
      for (const Section& s : plan.sections) {
        RC_PRE(!(s.producer == other && s.consumer == section.consumer));
      }
      // Of two steps that hold the same state either may be read, as far as the loop is concerned.
      const auto maps = [&](StepIndex step) {
        const StepKind kind = plan.steps[static_cast<std::size_t>(step)].kind;
        return kind == StepKind::kMap || kind == StepKind::kIterate;
      };
      RC_PRE(maps(other) && !maps(section.consumer));
      section.producer = other;
      break;
    }
  }
  RC_ASSERT(!CheckLoops(plan).ok());
}

}  // namespace
}  // namespace weir::planner
