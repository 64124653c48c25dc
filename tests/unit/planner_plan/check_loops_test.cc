#include "planner/plan/check_loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "planner/plan/check_plan.h"

namespace weir::planner {
namespace {

using ::testing::HasSubstr;

ComputeStep Step(StepKind kind, std::int32_t layer, std::int32_t index, WorkerIndex worker) {
  ComputeStep step;
  step.kind = kind;
  step.layer = layer;
  step.index_in_layer = index;
  step.worker = worker;
  return step;
}

// Steps wait for what they read.
void AddWaits(Plan& plan) {
  for (const Section& section : plan.sections) {
    ComputeStep& consumer = plan.steps[static_cast<std::size_t>(section.consumer)];
    const WorkerIndex from = plan.steps[static_cast<std::size_t>(section.producer)].worker;
    if (from == consumer.worker) {
      consumer.after_steps.push_back(section.producer);
      continue;
    }
    consumer.after_transfers.push_back(static_cast<TransferIndex>(plan.transfers.size()));
    plan.transfers.push_back(
        Transfer{section.producer, section.consumer, from, consumer.worker, 0, section.bytes});
  }
}

// Two mappers on workers 0 and 1, elements of 4 places, states of 2; iteration 0 and one more.
// Steps: maps 0, 1; fold 2, update 3, told 4; iterates 5, 6; fold 7, update 8; result 9.
Plan SmallLoop() {
  Plan plan;
  plan.network.num_workers = 2;
  plan.steps = {Step(StepKind::kMap, 0, 0, 0),     Step(StepKind::kMap, 0, 1, 1),
                Step(StepKind::kCombine, 1, 0, 0), Step(StepKind::kUpdate, 0, 0, 0),
                Step(StepKind::kCombine, 1, 1, 1), Step(StepKind::kIterate, 1, 0, 0),
                Step(StepKind::kIterate, 1, 1, 1), Step(StepKind::kCombine, 2, 0, 0),
                Step(StepKind::kUpdate, 1, 0, 0),  Step(StepKind::kReduce, 1, 0, 0)};
  plan.sections = {{0, 2, 4, {{0, 4}}}, {1, 2, 4, {{0, 4}}}, {2, 3, 4, {{0, 4}}},
                   {3, 4, 2, {{0, 2}}}, {3, 5, 2, {{0, 2}}}, {4, 6, 2, {{0, 2}}},
                   {5, 7, 4, {{0, 4}}}, {6, 7, 4, {{0, 4}}}, {7, 8, 4, {{0, 4}}},
                   {3, 8, 2, {{0, 2}}}, {3, 9, 2, {{0, 2}}}, {8, 9, 2, {{0, 2}}}};
  AddWaits(plan);
  return plan;
}

TEST(CheckLoopsTest, AcceptsALoop) { EXPECT_EQ(CheckLoops(SmallLoop()), absl::OkStatus()); }

TEST(CheckLoopsTest, SaysNothingOfOtherPlans) { EXPECT_EQ(CheckLoops(Plan()), absl::OkStatus()); }

struct BrokenLoop {
  std::string message;
  std::function<void(Plan&)> break_it;
};

class CheckLoopsMutationTest : public ::testing::TestWithParam<BrokenLoop> {};

TEST_P(CheckLoopsMutationTest, IsRefused) {
  Plan plan = SmallLoop();
  GetParam().break_it(plan);
  EXPECT_THAT(std::string(CheckLoops(plan).message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, CheckLoopsMutationTest,
    ::testing::Values(
        BrokenLoop{"Step 8 updates iteration 0 as number 0; the 1 iterations",
                   [](Plan& p) { p.steps[8].layer = 0; }},
        BrokenLoop{"Step 8 updates iteration 1 as number 1",
                   [](Plan& p) { p.steps[8].index_in_layer = 1; }},
        BrokenLoop{"Step 8 updates on worker 1; the first", [](Plan& p) { p.steps[8].worker = 1; }},
        BrokenLoop{"Steps 0 and 1 both keep input on worker 0",
                   [](Plan& p) { p.steps[1].worker = 0; }},
        BrokenLoop{"Step 6 is mapper 1 on worker 0, but its input lies on worker 1",
                   [](Plan& p) { p.steps[6].worker = 0; }},
        BrokenLoop{"Step 6 is mapper 0 of iteration 1",
                   [](Plan& p) { p.steps[6].index_in_layer = 0; }},
        BrokenLoop{"Step 6 is mapper 1 of iteration 2", [](Plan& p) { p.steps[6].layer = 2; }},
        BrokenLoop{"Step 3 updates iteration 0 but does not get every place",
                   [](Plan& p) { p.sections[1].indexes->begin = 1; }},
        BrokenLoop{"Step 3 updates iteration 0 but does not get every place",
                   [](Plan& p) { p.sections.erase(p.sections.begin() + 1); }},
        BrokenLoop{"Section 3 cuts a state", [](Plan& p) { p.sections[3].indexes->begin = 1; }},
        BrokenLoop{"holds no place of a state",
                   [](Plan& p) {
                     for (const std::size_t i : {3u, 4u, 5u, 9u, 10u, 11u}) {
                       p.sections[i].indexes->end = 0;
                     }
                   }},
        BrokenLoop{"of a loop has no index range", [](Plan& p) { p.sections[2].indexes.reset(); }},
        BrokenLoop{"Step 6 of iteration 1 reads step 1, which holds a result of iteration 0; must "
                   "be the state of iteration 0",
                   [](Plan& p) { p.sections[5].producer = 1; }},
        BrokenLoop{"Step 8 updates iteration 1 and reads 0 states",
                   [](Plan& p) { p.sections.erase(p.sections.begin() + 9); }},
        BrokenLoop{"Step 9 on worker 0 reads 1 steps of a loop",
                   [](Plan& p) { p.sections.erase(p.sections.begin() + 10); }},
        BrokenLoop{"Step 7 combines results of iterations 1 and 0, or a state", [](Plan& p) {
                     p.sections[7] = {3, 7, 2, {{0, 2}}};
                   }}));

// The same mappers, states of 4 places, of which worker 0 updates 3 and worker 1 one.
// Steps: maps 0, 1; updates 2, 3; iterates 4, 5; updates 6, 7; results 8, 9.
Plan RangesLoop() {
  Plan plan;
  plan.network.num_workers = 2;
  plan.steps = {Step(StepKind::kMap, 0, 0, 0),     Step(StepKind::kMap, 0, 1, 1),
                Step(StepKind::kUpdate, 0, 0, 0),  Step(StepKind::kUpdate, 0, 1, 1),
                Step(StepKind::kIterate, 1, 0, 0), Step(StepKind::kIterate, 1, 1, 1),
                Step(StepKind::kUpdate, 1, 0, 0),  Step(StepKind::kUpdate, 1, 1, 1),
                Step(StepKind::kReduce, 1, 0, 0),  Step(StepKind::kReduce, 1, 1, 1)};
  const IndexRange low{0, 3}, high{3, 4};
  plan.sections = {{0, 2, 3, low},  {1, 2, 3, low},  {0, 3, 1, high}, {1, 3, 1, high},
                   {2, 4, 3, low},  {3, 4, 1, high}, {2, 5, 3, low},  {3, 5, 1, high},
                   {4, 6, 3, low},  {5, 6, 3, low},  {2, 6, 3, low},  {4, 7, 1, high},
                   {5, 7, 1, high}, {3, 7, 1, high}, {2, 8, 3, low},  {6, 8, 3, low},
                   {3, 9, 1, high}, {7, 9, 1, high}};
  AddWaits(plan);
  return plan;
}

TEST(CheckLoopsTest, AcceptsALoopByRanges) {
  EXPECT_EQ(CheckLoops(RangesLoop()), absl::OkStatus());
}

class CheckRangesMutationTest : public ::testing::TestWithParam<BrokenLoop> {};

TEST_P(CheckRangesMutationTest, IsRefused) {
  Plan plan = RangesLoop();
  GetParam().break_it(plan);
  EXPECT_THAT(std::string(CheckLoops(plan).message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, CheckRangesMutationTest,
    ::testing::Values(
        BrokenLoop{"Step 7 updates on worker 0; the first update step 1 is on worker 1",
                   [](Plan& p) { p.steps[7].worker = 0; }},
        BrokenLoop{"Step 7 updates iteration 1 as number 0",
                   [](Plan& p) { p.steps[7].index_in_layer = 0; }},
        BrokenLoop{"Step 3 updates iteration 0 but does not get every place",
                   [](Plan& p) { p.sections[3].indexes->begin = 2; }},
        BrokenLoop{
            "Step 7 updates iteration 1 but does not get every place",
            [](Plan& p) { p.sections[11].indexes->begin = p.sections[12].indexes->begin = 2; }},
        BrokenLoop{"Step 7 updates iteration 1 but reads the state of step 2",
                   [](Plan& p) {
                     p.sections[13] = {2, 7, 3, {{0, 3}}};
                   }},
        BrokenLoop{"Section 7 cuts a range of a state",
                   [](Plan& p) { p.sections[7].indexes->end = 5; }},
        BrokenLoop{"Step 5 of iteration 1 reads 1 sections; must be 2, one of each range",
                   [](Plan& p) { p.sections.erase(p.sections.begin() + 7); }},
        BrokenLoop{"Step 9 on worker 1 reads 1 steps of a loop; it must read the 2 update steps",
                   [](Plan& p) { p.sections.erase(p.sections.begin() + 16); }},
        BrokenLoop{
            "There are 2 reduce steps of a loop; it needs one on each of 2 workers",
            [](Plan& p) { std::swap(p.steps[8].index_in_layer, p.steps[9].index_in_layer); }},
        BrokenLoop{"The update steps 0 have places [3, 4); those before end at 0", [](Plan& p) {
                     for (const std::size_t i : {2u, 6u}) {
                       std::swap(p.steps[i].index_in_layer, p.steps[i + 1].index_in_layer);
                     }
                   }}));

}  // namespace
}  // namespace weir::planner
