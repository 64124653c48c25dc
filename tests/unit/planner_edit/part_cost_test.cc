// What parts of lost map steps cost, in plans and in edits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "planner/edit/check_edit.h"
#include "planner/edit/edit_plan.h"
#include "planner/job/builders/plan_job.h"
#include "planner/plan/check_plan.h"
#include "planner/plan/units.h"
#include "tests/unit/planner_edit/progress_of.h"

namespace weir::planner {
namespace {

constexpr std::int32_t kWorkers = 8;

// Eight workers of one rate map 80 MB each in 4 s and reduce what they make, which is 0.9 of it and
// grows with the power 0.3.
JobShape Words() {
  JobShape shape;
  shape.input_bytes = 640'000'000;
  shape.map_seconds_per_byte.value = 5e-8;
  shape.map_output_ratio.value = 0.9;
  shape.map_output_growth.value = 0.3;
  shape.map_output_at_bytes = 80'000'000;
  LayerShape layer;
  layer.reduce_seconds_per_byte.value = 1e-8;
  shape.layers = {layer};
  return shape;
}

Plan PlanOf(const JobShape& shape) {
  ClusterProfile cluster;
  cluster.workers.resize(At(kWorkers));
  cluster.network = LimitedTotal(kWorkers, 1e-8, kWorkers);
  absl::StatusOr<Plan> plan = PlanJob(shape, cluster, {PlanMethod::kEven});
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *std::move(plan) : Plan();
}

PlanState Lost(const Plan& plan, WorkerIndex worker, Seconds at_s, PlanEdit* edit) {
  const PlanState state =
      ProgressOf(plan, *Predict(plan), NothingDone(plan), at_s, RunsStay::kToTheEnd);
  const PlanChange change{.lost = {worker}};
  absl::StatusOr<PlanEdit> edited = EditPlan(plan, state, change);
  EXPECT_TRUE(edited.ok()) << edited.status();
  if (!edited.ok()) return state;
  EXPECT_EQ(CheckEdit(plan, state, change, *edited), absl::OkStatus());
  *edit = *std::move(edited);
  return state;
}

TEST(PartCostTest, IsThatOfTheInputWhereNothingElseIsKnown) {
  for (const double share : {0.0, 0.1, 0.5, 1.0}) {
    EXPECT_DOUBLE_EQ(PartOfOutput({}, share), share);
    EXPECT_DOUBLE_EQ(PartOfTime({}, share), share);
  }
}

// What counting words of six digits took on one slot (job_shape.h): 0.65, 0.34 and 0.22.
TEST(PartCostTest, IsNearWhatWasMeasuredOfWords) {
  const PartCost cost = MapPartCost(Words(), 80e6);
  EXPECT_NEAR(PartOfTime(cost, 0.5), 0.65, 0.07);
  EXPECT_NEAR(PartOfTime(cost, 0.25), 0.34, 0.05);
  EXPECT_NEAR(PartOfTime(cost, 0.125), 0.22, 0.05);
  EXPECT_DOUBLE_EQ(PartOfTime(cost, 1), 1);
  EXPECT_DOUBLE_EQ(PartOfTime(cost, 0), 0);
}

TEST(PartCostTest, VectorsAreMadeWholeByEachPart) {
  JobShape shape = Words();
  shape.layers[0].element.kind = ElementShape::Kind::kVector;
  shape.layers[0].element.places = 1000;
  shape.layers[0].element.place_bytes = 8;
  EXPECT_DOUBLE_EQ(PartOfOutput(MapPartCost(shape, 80e6), 0.01), 1);
  EXPECT_DOUBLE_EQ(PartOfTime(MapPartCost(shape, 80e6), 0.01), 0.01);
}

TEST(PartCostTest, APlanKnowsItAndCheckPlanHoldsItsRange) {
  Plan plan = PlanOf(Words());
  EXPECT_EQ(plan.part_cost, MapPartCost(Words(), 80e6));
  plan.part_cost.output_time = 1.01;
  EXPECT_FALSE(CheckPlan(plan).ok());
}

TEST(PartCostTest, PartsOfALostMapTakeAndMakeMoreThanTheirPartOfTheInput) {
  const Plan plan = PlanOf(Words());
  PlanEdit edit;
  Lost(plan, 3, 1, &edit);
  std::vector<StepIndex> parts;
  Bytes input = 0;
  for (std::size_t s = 0; s < edit.plan.steps.size(); ++s) {
    if (s != 3 && s < plan.steps.size()) continue;
    parts.push_back(static_cast<StepIndex>(s));
    input += edit.plan.steps[s].input_bytes;
  }
  ASSERT_GT(parts.size(), 1U);
  EXPECT_EQ(input, plan.steps[3].input_bytes);
  for (const StepIndex part : parts) {
    const ComputeStep& step = edit.plan.steps[At(part)];
    const double share = static_cast<double>(step.input_bytes) / 80e6;
    EXPECT_NEAR(step.duration_s, plan.steps[3].duration_s * PartOfTime(plan.part_cost, share),
                1e-6);
    for (const Section& section : edit.plan.sections) {
      if (section.producer != part) continue;
      const auto whole = std::find_if(
          plan.sections.begin(), plan.sections.end(),
          [&](const Section& s) { return s.producer == 3 && s.consumer == section.consumer; });
      EXPECT_NEAR(static_cast<double>(section.bytes),
                  static_cast<double>(whole->bytes) * PartOfOutput(plan.part_cost, share), 1);
    }
  }
}

// At 2.5 s the others have 1.5 s of their maps left, and a reduce step takes 1.6 s with what it
// reads: counted from then, whoever is back and idle would end a second one as soon as they their
// first.
TEST(PartCostTest, OneThatIsBackGetsOneReduceStepAsTheOthersDo) {
  const Plan plan = PlanOf(Words());
  PlanEdit lost;
  Lost(plan, 3, 1, &lost);
  PlanState state = ProgressOf(lost.plan, lost.prediction, lost.state, 2.5, RunsStay::kToTheEnd);
  const PlanChange back{.joined = {{3, {}}}};
  const absl::StatusOr<PlanEdit> edit = EditPlan(lost.plan, state, back);
  ASSERT_TRUE(edit.ok()) << edit.status();
  EXPECT_EQ(CheckEdit(lost.plan, state, back, *edit), absl::OkStatus());
  std::vector<int> reduces(At(kWorkers), 0);
  for (const ComputeStep& step : edit->plan.steps) {
    if (!step.kind->reads_input()) ++reduces[At(step.worker)];
  }
  EXPECT_THAT(reduces, ::testing::Each(1)) << edit->why;
  EXPECT_LT(edit->prediction.makespan_s, lost.prediction.makespan_s);
}

TEST(PartCostTest, ShortStepsAreCutToo) {
  JobShape shape = Words();
  shape.map_seconds_per_byte.value /= 8;  // maps of half a second
  shape.map_output_ratio.value = 0.01;
  const Plan plan = PlanOf(shape);
  PlanEdit edit;
  Lost(plan, 3, 0.1, &edit);
  EXPECT_GT(edit.plan.steps.size(), plan.steps.size()) << edit.why;
}

}  // namespace
}  // namespace weir::planner
