// Edits for workers that a plan does not know, with a hand solution.

#include "planner/edit/added_workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "planner/edit/check_edit.h"
#include "planner/edit/edit_plan.h"
#include "planner/order/plan_assembly.h"
#include "planner/order/transfer_orders.h"
#include "planner/plan/units.h"
#include "tests/unit/planner_edit/progress_of.h"
#include "tests/unit/planner_edit/three_by_three.h"

namespace weir::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Two workers with two map steps each, of 300 bytes and 10 s, and a reduce step each. Sections of
// 150 bytes move within 1.5 s; maps end at 20 s, the second sections at 21.5 s, and the reduce
// steps, of 6 s, at 27.5 s.
Plan FourByTwo() {
  NetworkModel network;
  network.num_workers = 2;
  network.seconds_per_byte = 0.01;
  PlanAssembly assembly(network);
  absl::Status status = assembly.AddMappers({{0, 300, 300, 0, 10.0},
                                             {0, 300, 300, 0, 10.0},
                                             {1, 300, 300, 0, 10.0},
                                             {1, 300, 300, 0, 10.0}});
  const LayerDraft layer{
      {{0, 0.5}, {1, 0.5}}, 1, [](WorkerIndex, Bytes b) { return 0.01 * static_cast<double>(b); }};
  status.Update(assembly.AddReducers(layer, {{0, 1}, {2, 0}, {1, 1}, {3, 0}}));
  Plan plan = assembly.TakePlan();
  status.Update(OrderByPriority(&plan));
  if (!status.ok()) plan.steps.clear();
  return plan;
}

PlanChange::Added OneMore(const Plan& plan, double rate) {
  PlanChange::Added added;
  added.names = {"c"};
  added.compute_rate.assign(At(plan.network.num_workers), 1);
  added.compute_rate.push_back(rate);
  added.network = plan.network;
  ++added.network.num_workers;
  return added;
}

EditCase AddAt(Seconds now_s, const Plan& plan, double rate) {
  EditCase made;
  made.before = plan;
  made.state = ProgressOf(plan, *Predict(plan), NothingDone(plan), now_s, RunsStay::kToTheEnd);
  made.change.added = OneMore(plan, rate);
  made.edit = *EditPlan(made.before, made.state, made.change);
  EXPECT_EQ(CheckEdit(made.before, made.state, made.change, made.edit), absl::OkStatus());
  return made;
}

absl::Status EditFor(const Plan& plan, const PlanChange::Added& added) {
  PlanChange change;
  change.added = added;
  return EditPlan(plan, NothingDone(plan), change).status();
}

TEST(AddedWorkersTest, ThePlanOfTheseTestsIsAsItsHandSolutionSays) {
  EXPECT_DOUBLE_EQ(Predict(FourByTwo())->makespan_s, 27.5);
}

// At 5 s each of the two has 5 s of its first map left and one of 10 s to come: with a third worker
// all end at 15 s, which gets one of them whole; the other is cut in two.
TEST(AddedWorkersTest, ANewOneGetsWhatHasNotBegun) {
  const EditCase edited = AddAt(5, FourByTwo(), 1);
  const PlanEdit& edit = edited.edit;
  EXPECT_EQ(edit.plan.network.num_workers, 3);
  EXPECT_EQ(edit.plan.compute_order.size(), 3u);
  EXPECT_EQ(edit.plan.send_order.size(), 3u);
  EXPECT_EQ(edit.plan.receive_order.size(), 3u);
  EXPECT_THAT(edit.state.gone, ElementsAre(false, false, false));
  EXPECT_THAT(edit.redone, IsEmpty());
  ASSERT_EQ(edit.plan.steps.size(), 7u);
  EXPECT_EQ(edit.plan.steps[3].worker, 2);
  EXPECT_EQ(edit.plan.steps[1].input_end, 450);
  EXPECT_EQ(edit.plan.steps[6].input_begin, 450);
  for (const StepIndex map : {1, 3, 6}) {
    EXPECT_DOUBLE_EQ(edit.prediction.steps[At(map)].finish_s, 15) << map;
  }
  EXPECT_LT(edit.prediction.makespan_s, 25);
  EXPECT_THAT(edit.why, HasSubstr("Joined worker 2 (new): "));
  EXPECT_THAT(edit.why, HasSubstr("moving what has not begun"));
}

// Twice as fast as the others, whose maps take 10 s: 10 s of its own time are 20 s of theirs.
TEST(AddedWorkersTest, ItGetsAsMuchAsItsRateSays) {
  const EditCase edited = AddAt(5, FourByTwo(), 2);
  for (const StepIndex map : {1, 3}) {
    const ComputeStep& step = edited.edit.plan.steps[At(map)];
    if (step.worker != 2) continue;
    EXPECT_DOUBLE_EQ(step.duration_s, static_cast<double>(step.input_bytes) / 60);
  }
  EXPECT_LT(edited.edit.prediction.makespan_s, AddAt(5, FourByTwo(), 1).edit.prediction.makespan_s);
}

TEST(AddedWorkersTest, WhereItGainsTooLittleNothingMoves) {
  // Too slow; and all that is left has begun.
  for (const EditCase& edited : {AddAt(5, FourByTwo(), 1e-3), AddAt(26, FourByTwo(), 4)}) {
    ASSERT_EQ(edited.edit.plan.steps.size(), 6u);
    for (std::size_t s = 0; s < 6; ++s) {
      EXPECT_EQ(edited.edit.plan.steps[s].worker, edited.before.steps[s].worker);
    }
    EXPECT_THAT(edited.edit.redone, IsEmpty());
    EXPECT_DOUBLE_EQ(edited.edit.prediction.makespan_s, 27.5);
  }
}

// A worker is lost, and another one is there for the first time: it takes a part of what was lost.
TEST(AddedWorkersTest, ANewOneStandsInForALostOne) {
  EditCase edited = LoseAt(5, {2});
  const Seconds alone_s = edited.edit.prediction.makespan_s;
  edited.change.added = OneMore(edited.before, 1);
  edited.edit = *EditPlan(edited.before, edited.state, edited.change);
  EXPECT_EQ(CheckEdit(edited.before, edited.state, edited.change, edited.edit), absl::OkStatus());
  EXPECT_LT(edited.edit.prediction.makespan_s, alone_s);
  EXPECT_THAT(edited.edit.plan.compute_order[2], IsEmpty());
  EXPECT_FALSE(edited.edit.plan.compute_order[3].empty());
  EXPECT_THAT(edited.edit.why, HasSubstr("Lost worker 2; Joined worker 3 (new): "));
}

// Whoever ran a step alone has no network to others that could change.
TEST(AddedWorkersTest, AWorkerThatWasAloneMayHaveAnyNetwork) {
  NetworkModel network;
  network.num_workers = 1;
  PlanAssembly assembly(network);
  ASSERT_TRUE(assembly.AddMappers({{0, 300, 300, 0, 10.0}, {0, 300, 300, 0, 10.0}}).ok());
  const LayerDraft layer{{{0, 1.0}}, 1, [](WorkerIndex, Bytes) { return 1.0; }};
  ASSERT_TRUE(assembly.AddReducers(layer, {}).ok());
  Plan plan = assembly.TakePlan();
  ASSERT_TRUE(OrderByPriority(&plan).ok());
  ASSERT_DOUBLE_EQ(Predict(plan)->makespan_s, 21);
  PlanChange change;
  change.added = OneMore(plan, 1);
  change.added.network = LimitedTotal(2, 0.001, 1);
  const PlanState state =
      ProgressOf(plan, *Predict(plan), NothingDone(plan), 2, RunsStay::kToTheEnd);
  const PlanEdit edit = *EditPlan(plan, state, change);
  EXPECT_EQ(CheckEdit(plan, state, change, edit), absl::OkStatus());
  EXPECT_EQ(edit.plan.network.cuts.size(), 1u);
  EXPECT_LT(edit.prediction.makespan_s, 19);
}

TEST(AddedWorkersTest, CutsOfThePlanKeepTheirPlaces) {
  Plan plan = FourByTwo();
  plan.network.cuts = {{"a up", {true, false}, {false, true}, 1}};
  ASSERT_TRUE(OrderByPriority(&plan).ok());
  PlanChange::Added added = OneMore(plan, 1);
  added.network.cuts = {{"b up", {false, false, true}, {true, true, false}, 2},
                        {"a up", {true, false, false}, {false, true, true}, 1}};
  PlanState state = NothingDone(plan);
  ASSERT_EQ(AddWorkers(added, &plan, &state), absl::OkStatus());
  ASSERT_EQ(plan.network.cuts.size(), 2u);
  EXPECT_EQ(plan.network.cuts[0].name, "a up");
  EXPECT_EQ(plan.network.cuts[1].name, "b up");
  EXPECT_EQ(plan.channel_order.size(), 2u);
  EXPECT_FALSE(plan.channel_order[0].empty());
}

TEST(AddedWorkersTest, RefusesWhatDoesNotBelongToThePlan) {
  Plan plan = FourByTwo();
  plan.network.cuts = {{"a up", {true, false}, {false, true}, 1}};
  ASSERT_TRUE(OrderByPriority(&plan).ok());
  PlanChange::Added good = OneMore(plan, 1);
  good.network.cuts[0].from.push_back(false);
  good.network.cuts[0].to.push_back(true);
  EXPECT_EQ(EditFor(plan, good), absl::OkStatus());
  const auto expect_refused = [&](const auto& spoil, const char* why) {
    PlanChange::Added spoiled = good;
    spoil(spoiled);
    const absl::Status refused = EditFor(plan, spoiled);
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << why;
    EXPECT_THAT(refused.message(), HasSubstr(why));
  };
  expect_refused([](auto& a) { a.names.push_back("d"); }, "2 beside 2 of the plan");
  expect_refused([](auto& a) { a.compute_rate[2] = 0; }, "compute rate of worker 2");
  expect_refused([](auto& a) { a.network.seconds_per_byte = 0.02; }, "other rates");
  expect_refused([](auto& a) { a.network.port_slowdown = {1, 2, 1}; }, "the port of worker 1");
  expect_refused([](auto& a) { a.network.port_slowdown = {1, 1, 3}; }, "other lanes");
  expect_refused([](auto& a) { a.network.cuts[0].channels = 2; }, "'a up' would be another one");
  expect_refused([](auto& a) { a.network.cuts[0].from[1] = true; }, "'a up' would be another one");
  expect_refused([](auto& a) { a.network.cuts.push_back(LimitedTotal(3, 1, 1).cuts[0]); },
                 "'total' would be new between workers of the plan");
}

}  // namespace
}  // namespace weir::planner
