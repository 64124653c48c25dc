// Edits with a hand solution: who does what again, what moves, and when it ends.

#include "planner/edit/edit_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "planner/edit/check_edit.h"
#include "planner/edit/order_rest.h"
#include "planner/edit/step_homes.h"
#include "planner/edit/work_left.h"
#include "planner/plan/units.h"
#include "tests/unit/planner_edit/progress_of.h"
#include "tests/unit/planner_edit/three_by_three.h"

namespace weir::planner {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void ExpectRight(const EditCase& edited) {
  EXPECT_EQ(CheckEdit(edited.before, edited.state, edited.change, edited.edit), absl::OkStatus());
}

// ThreeByThree at `now_s`, when this turns out.
EditCase ChangeAt(Seconds now_s, PlanChange change) {
  EditCase edited = LoseAt(now_s, {});
  edited.change = std::move(change);
  edited.edit = *EditPlan(edited.before, edited.state, edited.change);
  ExpectRight(edited);
  return edited;
}

TEST(ThreeByThreeTest, IsAsItsHandSolutionSays) {
  const Prediction prediction = *Predict(ThreeByThree());
  EXPECT_DOUBLE_EQ(prediction.makespan_s, 15);
  EXPECT_DOUBLE_EQ(prediction.transfers[2].finish_s, 11);
}

// Both survivors have 5 s of their own maps left; the third map, of 10 s, is cut between them, so
// they end at 15 s. The lost reduce step goes to one of them.
TEST(EditPlanTest, AMapUnderWayIsCutOverTheSurvivors) {
  const EditCase edited = LoseAt(5, {2});
  ExpectRight(edited);
  const Plan& plan = edited.edit.plan;
  ASSERT_EQ(plan.steps.size(), 7u);
  EXPECT_EQ(plan.steps[2].input_begin, 600);
  EXPECT_EQ(plan.steps[2].input_end, 750);
  EXPECT_EQ(plan.steps[6].input_begin, 750);
  EXPECT_EQ(plan.steps[6].input_end, 900);
  EXPECT_EQ(plan.steps[6].index_in_layer, 3);
  EXPECT_NE(plan.steps[2].worker, plan.steps[6].worker);
  EXPECT_DOUBLE_EQ(plan.steps[2].start_s, 10);
  EXPECT_DOUBLE_EQ(plan.steps[6].start_s + plan.steps[6].duration_s, 15);
  EXPECT_THAT(edited.edit.redone, ElementsAre(2));
  EXPECT_EQ(edited.edit.moved_again, 0);
  EXPECT_EQ(edited.edit.state.steps[0], WorkState::kUnderWay);
  EXPECT_EQ(plan.steps[0].start_s, 0);
}

// Reducer 0 has its section of the lost map 2, the others have not. Map 2 stays done for it, and
// two new steps make what the others lack; both survivors are free, so it takes 5 s instead of 10
// s. What reducer 0 has does not move; the transfer 1 -> 0 is under way and stays.
TEST(EditPlanTest, ADoneMapIsMadeInPartsForThoseWhoLackIt) {
  const EditCase edited = LoseAt(11.5, {2});
  ExpectRight(edited);
  const PlanEdit& edit = edited.edit;
  EXPECT_THAT(edit.redone, IsEmpty());
  EXPECT_THAT(edit.in_parts, ElementsAre(2));
  EXPECT_EQ(edit.state.steps[2], WorkState::kDone);
  EXPECT_FALSE(edit.state.run_there[2]);
  EXPECT_FALSE(edit.plan.steps[2].is_rerun);
  ASSERT_EQ(edit.plan.steps.size(), 8u);
  EXPECT_EQ(edit.plan.steps[6].input_begin, 600);
  EXPECT_EQ(edit.plan.steps[6].input_end, edit.plan.steps[7].input_begin);
  EXPECT_EQ(edit.plan.steps[7].input_end, 900);
  EXPECT_TRUE(edit.plan.steps[6].is_rerun && edit.plan.steps[7].is_rerun);
  for (const Section& section : edit.plan.sections) {
    EXPECT_EQ(section.producer == 2, section.producer == 2 && section.consumer == 3);
    EXPECT_FALSE(section.producer > 5 && section.consumer == 3);
  }
  int to_reducer_0 = 0;
  for (std::size_t t = 0; t < edit.plan.transfers.size(); ++t) {
    const Transfer& transfer = edit.plan.transfers[t];
    if (transfer.producer == 2 && transfer.consumer == 3) {
      ++to_reducer_0;
      EXPECT_EQ(edit.state.transfers[t], WorkState::kDone);
    }
    if (transfer.producer == 1 && transfer.consumer == 3) {
      EXPECT_EQ(edit.state.transfers[t], WorkState::kUnderWay);
      EXPECT_EQ(edit.transfer_was[t], 4);
    }
  }
  EXPECT_EQ(to_reducer_0, 1);
  EXPECT_THAT(edit.why, HasSubstr("Lost worker 2: 1 step not begun and 0 under way move, 1 done is "
                                  "made again."));
}

// The same where what a map step makes does not follow from its input piece by piece, as of
// scripts: it is made again as it was, under its number, and reducer 0 keeps what it has.
TEST(EditPlanTest, ADoneMapWhosePairsDependOnMoreThanTheirRecordsIsMadeAgainWhole) {
  const EditCase edited = ChangeAt(11.5, {.lost = {2}, .whole_steps = true});
  const PlanEdit& edit = edited.edit;
  EXPECT_THAT(edit.in_parts, IsEmpty());
  EXPECT_THAT(edit.redone, Contains(2));
  ASSERT_EQ(edit.plan.steps.size(), edited.before.steps.size());
  EXPECT_EQ(edit.plan.steps[2].index_in_layer, 2);
  EXPECT_EQ(edit.plan.steps[2].input_begin, 600);
  EXPECT_EQ(edit.plan.steps[2].input_end, 900);
}

// Nothing of it has arrived anywhere: whoever makes it in parts makes all of it.
TEST(EditPlanTest, AMapUnderWayIsCutHoweverItsPairsComeAbout) {
  const EditCase edited = ChangeAt(5, {.lost = {2}, .whole_steps = true});
  EXPECT_EQ(edited.edit.plan.steps.size(), 7u);
}

// Where nobody shares the work it is made again whole.
TEST(EditPlanTest, ASoleSurvivorMakesADoneMapAgainWhole) {
  const EditCase edited = LoseAt(11.5, {1, 2});
  ExpectRight(edited);
  EXPECT_THAT(edited.edit.in_parts, IsEmpty());
  EXPECT_THAT(edited.edit.redone, Contains(2));
  EXPECT_EQ(edited.edit.plan.steps.size(), 6u);
}

// The sole survivor reduces, and the run of its map is gone; for the other reducers it is made
// again. What has begun there no longer waits for it.
TEST(EditPlanTest, AStepThatHasBegunWaitsForNothingThatIsMadeAgain) {
  EditCase edited;
  edited.before = ThreeByThree();
  edited.state = ProgressOf(edited.before, *Predict(edited.before), NothingDone(edited.before), 13,
                            RunsStay::kToTheEnd);
  edited.state.run_there.assign(edited.before.steps.size(), false);
  edited.change.lost = {1, 2};
  edited.edit = *EditPlan(edited.before, edited.state, edited.change);
  ExpectRight(edited);
  EXPECT_THAT(edited.edit.redone, ElementsAre(0, 1, 2, 4, 5));
  EXPECT_EQ(edited.edit.state.steps[3], WorkState::kUnderWay);
  EXPECT_THAT(edited.edit.plan.steps[3].after_steps, IsEmpty());
}

// When all have read what they need, only the lost reduce step is left, and the map that it lacks.
TEST(EditPlanTest, ALostReduceStepNeedsAllItsSectionsAgain) {
  const EditCase edited = LoseAt(13, {2});
  ExpectRight(edited);
  EXPECT_THAT(edited.edit.redone, ElementsAre(5));
  EXPECT_THAT(edited.edit.in_parts, ElementsAre(2));
  EXPECT_EQ(edited.edit.state.steps[3], WorkState::kUnderWay);
  EXPECT_EQ(edited.edit.state.steps[4], WorkState::kUnderWay);
  EXPECT_EQ(edited.edit.state.steps[5], WorkState::kWaiting);
  // One section of the two that had arrived is now made where it is read, or both have to move.
  EXPECT_GE(edited.edit.moved_again, 100);
}

TEST(EditPlanTest, AWorkerWhosePartIsStoredIsNotMissed) {
  EditCase edited;
  edited.before = ThreeByThree();
  edited.state = ProgressOf(edited.before, *Predict(edited.before), NothingDone(edited.before), 13,
                            RunsStay::kToTheEnd);
  edited.state.steps[5] = WorkState::kDone;  // ended early
  edited.state.step_ended_s[5] = 12.9;
  edited.change.lost = {2};
  edited.edit = *EditPlan(edited.before, edited.state, edited.change);
  ExpectRight(edited);
  EXPECT_THAT(edited.edit.redone, IsEmpty());
  EXPECT_DOUBLE_EQ(edited.edit.prediction.makespan_s, 15);
  EXPECT_THAT(edited.edit.why, HasSubstr("no step has to move"));
}

TEST(EditPlanTest, OneSurvivorDoesEverything) {
  const EditCase edited = LoseAt(11.5, {0, 2});
  ExpectRight(edited);
  for (std::size_t s = 0; s < edited.edit.plan.steps.size(); ++s) {
    if (edited.edit.state.steps[s] == WorkState::kDone) continue;
    EXPECT_EQ(edited.edit.plan.steps[s].worker, 1);
  }
}

// Worker 1 is lost after worker 2: what worker 2 had left does not come back to it.
TEST(EditPlanTest, AWorkerThatIsGoneStaysGone) {
  const EditCase first = LoseAt(5, {2});
  EditCase second;
  second.before = first.edit.plan;
  second.state =
      ProgressOf(first.edit.plan, first.edit.prediction, first.edit.state, 12, RunsStay::kToTheEnd);
  second.change.lost = {1};
  second.edit = *EditPlan(second.before, second.state, second.change);
  ExpectRight(second);
  for (std::size_t s = 0; s < second.edit.plan.steps.size(); ++s) {
    if (second.edit.state.steps[s] != WorkState::kDone) {
      EXPECT_EQ(second.edit.plan.steps[s].worker, 0);
    }
  }
}

// Worker 2 comes back before its map 2 has begun elsewhere, with the run: nothing is made again,
// and the run moves from there.
TEST(EditPlanTest, AWorkerThatComesBackBringsItsRuns) {
  const EditCase first = LoseAt(11.5, {1, 2});
  EditCase second;
  second.before = first.edit.plan;
  second.state = first.edit.state;
  second.change.joined = {{2, {2}}};
  second.edit = *EditPlan(second.before, second.state, second.change);
  ExpectRight(second);
  EXPECT_EQ(second.edit.state.steps[2], WorkState::kDone);
  EXPECT_EQ(second.edit.plan.steps[2].worker, 2);
  EXPECT_FALSE(second.edit.state.gone[2]);
  EXPECT_LT(second.edit.prediction.makespan_s, first.edit.prediction.makespan_s - 5);
  EXPECT_THAT(second.edit.why, HasSubstr("Joined worker 2"));
  // Without the run it can take a part of the work only.
  second.change.joined = {{2, {}}};
  const PlanEdit empty_handed = *EditPlan(second.before, second.state, second.change);
  EXPECT_EQ(empty_handed.state.steps[2], WorkState::kWaiting);
  EXPECT_GT(empty_handed.prediction.makespan_s, second.edit.prediction.makespan_s);
}

// At the start worker 2 turns out to be four times slower: its map would take 40 s. Most of it goes
// to the others: speeds 1, 1 and 1/4 with 10, 10 and 0 s of work end 10 s more of it at 13.3 s.
TEST(EditPlanTest, WhatHasNotBegunLeavesASlowWorker) {
  EditCase edited = ChangeAtTheStart({.rate_factor = {1, 1, 0.25}});
  ExpectRight(edited);
  EXPECT_LT(edited.edit.prediction.makespan_s, 25);
  EXPECT_THAT(edited.edit.why, HasSubstr("Slow worker 2"));
  EXPECT_THAT(edited.edit.why, HasSubstr("Goes on moving what has not begun by all"));
  EXPECT_THAT(edited.edit.redone, IsEmpty());
  // A little slowness is not worth moving anything.
  edited = ChangeAtTheStart({.rate_factor = {1, 1, 0.98}});
  ExpectRight(edited);
  EXPECT_EQ(edited.edit.plan.steps.size(), 6u);
  EXPECT_EQ(edited.edit.plan.steps[2].worker, 2);
}

// What a slow worker has begun, and ends soon enough, goes on there and is expected later: at 9 s
// it needs 3.5 s, and all three together would need longer to make it anew.
TEST(EditPlanTest, WhatASlowWorkerHasBegunStays) {
  const EditCase edited = ChangeAt(9, {.rate_factor = {1, 1, 0.8}});
  EXPECT_EQ(edited.edit.state.steps[2], WorkState::kUnderWay);
  EXPECT_EQ(edited.edit.plan.steps[2].worker, 2);
  EXPECT_DOUBLE_EQ(edited.edit.prediction.steps[2].finish_s, 12.5);
}

// At 5 s worker 2 turns out to be ten times slower: its map would end at 100 s. It is given up and
// made anew by the others, which are free at 10 s. With a part for worker 2 all three would end at
// 14.52 s: too little for what worker 2 may then turn out to be.
TEST(EditPlanTest, WhatASlowWorkerHasBegunIsMadeAnew) {
  const EditCase edited = ChangeAt(5, {.rate_factor = {1, 1, 0.1}});
  const PlanEdit& edit = edited.edit;
  EXPECT_THAT(edit.redone, ElementsAre(2));
  ASSERT_EQ(edit.plan.steps.size(), 7u);
  for (const StepIndex part : {2, 6}) {
    EXPECT_EQ(edit.state.steps[At(part)], WorkState::kWaiting);
    EXPECT_NE(edit.plan.steps[At(part)].worker, 2);
    EXPECT_DOUBLE_EQ(edit.prediction.steps[At(part)].finish_s, 15);
  }
  EXPECT_EQ(edit.state.steps[0], WorkState::kUnderWay);
  EXPECT_LT(edit.prediction.makespan_s, 22);
  EXPECT_THAT(edit.why,
              HasSubstr("Goes on making anew what slow workers have under way by others"));
}

// Where all are slower nobody is: what is under way ends later, and stays.
TEST(EditPlanTest, AWrongPredictionMovesNothing) {
  const EditCase edited = ChangeAt(5, {.pace = 0.5});
  EXPECT_THAT(edited.edit.redone, IsEmpty());
  EXPECT_EQ(edited.edit.plan.steps.size(), 6u);
  EXPECT_DOUBLE_EQ(edited.edit.prediction.makespan_s, 20 + 2 + 6);
}

// Worker 2 sends and receives at half the rate: two sections out and two in at the same time take
// 4 s. Three out would take longer, so its reduce step stays. Ports are no faster than channels.
TEST(EditPlanTest, ASlowPortIsPlannedWith) {
  const EditCase edited = ChangeAt(10, {.port_factor = {1, 4, 0.5}});
  EXPECT_THAT(edited.edit.plan.network.port_lag, ElementsAre(1, 1, 2));
  EXPECT_NEAR(edited.edit.prediction.makespan_s, 10 + 4 + 3, 1e-9);
  EXPECT_EQ(edited.edit.plan.steps[5].worker, 2);
  EXPECT_THAT(edited.edit.redone, IsEmpty());
  EXPECT_THAT(edited.edit.why, HasSubstr("Slow port of worker 2"));
}

// At a tenth they would take 20 s; the other two map its input again in 5 s, and nothing waits for
// its port.
TEST(EditPlanTest, WhatLiesBehindASlowPortIsMadeAgain) {
  const EditCase edited = ChangeAt(10, {.port_factor = {1, 1, 0.1}});
  EXPECT_THAT(edited.edit.redone, ElementsAre(2));
  EXPECT_LT(edited.edit.prediction.makespan_s, 22);
  EXPECT_NE(edited.edit.plan.steps[5].worker, 2);
  for (const Transfer& transfer : edited.edit.plan.transfers) {
    EXPECT_NE(transfer.sender, 2);
    EXPECT_NE(transfer.receiver, 2);
  }
  EXPECT_THAT(edited.edit.why, HasSubstr("Goes on making again what lies behind slow ports"));
}

TEST(EditPlanTest, RefusesWhatItCannotEdit) {
  const Plan plan = ThreeByThree();
  const PlanState state = NothingDone(plan);
  EXPECT_EQ(EditPlan(plan, state, {{0, 1, 2}}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(EditPlan(plan, state, {{3}}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(EditPlan(plan, PlanState{}, {{0}}).status().code(), absl::StatusCode::kInvalidArgument);
  PlanChange change;
  change.rate_factor = {1, 0, 1};
  EXPECT_EQ(EditPlan(plan, state, change).status().code(), absl::StatusCode::kInvalidArgument);
  change = {};
  change.pace = 0;
  EXPECT_EQ(EditPlan(plan, state, change).status().code(), absl::StatusCode::kInvalidArgument);
  change = {};
  change.port_factor = {1, 1};
  EXPECT_EQ(EditPlan(plan, state, change).status().code(), absl::StatusCode::kInvalidArgument);
  change = {};
  change.rate_factor = {1};
  EXPECT_EQ(EditPlan(plan, state, change).status().code(), absl::StatusCode::kInvalidArgument);
  change = {};
  change.joined = {{1, {6}}};
  EXPECT_EQ(EditPlan(plan, state, change).status().code(), absl::StatusCode::kInvalidArgument);
  Plan loop = plan;
  loop.steps[3].kind = StepKind::kIterate;
  const absl::Status refused = EditPlan(loop, state, {{0}}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("loop"));
}

// A worker twice as fast as the other takes two thirds of what is cut.
TEST(EditPlanTest, SpeedsDecideWhoGetsHowMuch) {
  Plan plan = ThreeByThree();
  plan.compute_rate = {2, 1, 1};
  const PlanState state = NothingDone(plan);
  for (ComputeStep step : plan.steps) ASSERT_GT(step.duration_s, 0);
  const WorkLeft left = FindWorkLeft(plan, state, {true, true, false}, PartlyRead::kMadeAgain);
  const std::vector<std::vector<StepHome>> homes = FindHomes(plan, state, left, {2, false});
  ASSERT_EQ(homes[2].size(), 2u);
  // 10 s of work at speed 1, on top of 10 s that each has already: (10 + 10 + 2 * 10) / 3 = 13.33
  // s.
  EXPECT_EQ(homes[2][0].input_end - homes[2][0].input_begin, 200);
  EXPECT_EQ(homes[2][0].worker, 0);
  EXPECT_NEAR(homes[2][0].duration_s, 10.0 / 3, 1e-9);
  EXPECT_NEAR(homes[2][1].duration_s, 10.0 / 3, 1e-9);
}

// What a step takes beside its bytes, as a script its start, says nothing of its worker: worker 2
// needs 10 s for a tenth of what the others read in that time, and takes half of what is lost.
TEST(EditPlanTest, AWorkerOfSmallStepsIsNoSlowOne) {
  Plan plan = ThreeByThree();
  plan.steps[1].input_end = plan.steps[2].input_begin = 870;
  plan.steps[1].input_bytes = 570;
  plan.steps[2].input_bytes = 30;
  const PlanState state = NothingDone(plan);
  const WorkLeft left = FindWorkLeft(plan, state, {true, false, true}, PartlyRead::kMadeAgain);
  const std::vector<std::vector<StepHome>> homes = FindHomes(plan, state, left, {2, false});
  ASSERT_EQ(homes[1].size(), 2u);
  EXPECT_EQ(homes[1][0].input_end, 585);
  EXPECT_EQ(homes[1][1].worker, 2);
  EXPECT_DOUBLE_EQ(homes[1][1].duration_s, 5);
}

// Worker 0 has little memory: of 300 bytes its map step puts 600 on disk, its reduce step 150.
TEST(EditPlanTest, WhatMovesPutsOnDiskWhatItsNewWorkerDoes) {
  Plan plan = ThreeByThree();
  plan.steps[0].spilled_bytes = 600;
  plan.steps[0].spill_s = 1;
  plan.steps[3].spilled_bytes = 150;
  plan.steps[3].spill_s = 0.5;
  const PlanState state = NothingDone(plan);
  std::vector<std::vector<StepHome>> homes(6);
  homes[2] = {{0, 600, 750, 5}, {1, 750, 900, 5}};
  homes[5] = {{0, 0, 0, 3}};
  WorkLeft left = FindWorkLeft(plan, state, {true, true, false}, PartlyRead::kMadeAgain);
  const Plan to_it = ApplyHomes(plan, state, left, homes).plan;
  EXPECT_EQ(to_it.steps[2].spilled_bytes, 300);
  EXPECT_DOUBLE_EQ(to_it.steps[2].spill_s, 0.5);
  EXPECT_EQ(to_it.steps[6].spilled_bytes, 0) << "worker 1 has more";
  EXPECT_EQ(to_it.steps[5].spilled_bytes, 150);
  EXPECT_DOUBLE_EQ(to_it.steps[5].spill_s, 0.5);
  homes.assign(6, {});
  homes[0] = {{1, 0, 300, 10}};
  homes[3] = {{2, 0, 0, 3}};
  left = FindWorkLeft(plan, state, {false, true, true}, PartlyRead::kMadeAgain);
  for (const ComputeStep& step : ApplyHomes(plan, state, left, homes).plan.steps) {
    EXPECT_EQ(step.spilled_bytes, 0) << step.layer;
    EXPECT_EQ(step.spill_s, 0) << step.layer;
  }
}

// ThreeByThree at `now_s`, when the step, which was under way, fails and this follows.
EditCase FailAt(Seconds now_s, StepIndex failed, PlanChange change) {
  EditCase edited = LoseAt(now_s, {});
  edited.state.steps[At(failed)] = WorkState::kWaiting;
  edited.state.step_began_s[At(failed)] = -1;
  edited.change = std::move(change);
  edited.edit = *EditPlan(edited.before, edited.state, edited.change);
  ExpectRight(edited);
  return edited;
}

// Worker 2 ends its map, whose run is read from there; its reduce step is for another one.
TEST(EditPlanTest, AClosedWorkerEndsWhatItHasAndGetsNothingNew) {
  const EditCase edited = ChangeAt(5, {.closed = {2}});
  const PlanEdit& edit = edited.edit;
  EXPECT_THAT(edit.redone, IsEmpty());
  EXPECT_EQ(edit.plan.steps[2].worker, 2);
  EXPECT_NE(edit.plan.steps[5].worker, 2);
  EXPECT_EQ(edit.plan.steps[3].worker, 0);
  EXPECT_THAT(edit.why, HasSubstr("Nothing new for worker 2"));
}

// One of its two sections has arrived.
TEST(EditPlanTest, AClosedWorkerKeepsWhatItHasBegunToReceiveAsLongAsItStays) {
  EXPECT_EQ(ChangeAt(11.5, {.closed = {2}, .closed_stay_s = 3.5}).edit.plan.steps[5].worker, 2);
  const EditCase edited = ChangeAt(11.5, {.closed = {2}, .closed_stay_s = 3.4});
  EXPECT_NE(edited.edit.plan.steps[5].worker, 2);
  EXPECT_THAT(edited.edit.redone, IsEmpty()) << "its own run is read from where it is";
}

TEST(EditPlanTest, AClosedWorkerIsTheHomeOfNothingThatIsLost) {
  const EditCase edited = ChangeAt(5, {.lost = {1}, .closed = {2}});
  for (const StepIndex step : {1, 4, 5}) EXPECT_EQ(edited.edit.plan.steps[At(step)].worker, 0);
}

TEST(EditPlanTest, WhereAllAreClosedTheyGoOn) {
  const EditCase edited = ChangeAt(5, {.lost = {0}, .closed = {1, 2}});
  for (const ComputeStep& step : edited.edit.plan.steps) EXPECT_NE(step.worker, 0);
}

TEST(EditPlanTest, AStepThatFailedIsRunWholeByAnother) {
  const EditCase edited = FailAt(5, 2, {.elsewhere = {2}});
  const PlanEdit& edit = edited.edit;
  EXPECT_THAT(edit.redone, IsEmpty());
  ASSERT_EQ(edit.plan.steps.size(), 6u);
  EXPECT_NE(edit.plan.steps[2].worker, 2);
  EXPECT_EQ(edit.plan.steps[5].worker, 2) << "what else it has stays";
}

TEST(EditPlanTest, ARunThatIsLostIsMadeAgainThoughItsWorkerIsThere) {
  const EditCase edited = ChangeAt(11.5, {.runs_lost = {2}});
  EXPECT_THAT(edited.edit.redone, IsEmpty());
  EXPECT_THAT(edited.edit.in_parts, ElementsAre(2));
  EXPECT_EQ(edited.edit.plan.steps[5].worker, 2);
}

TEST(EditPlanTest, ASectionThatIsLostMovesOnceMore) {
  const EditCase edited = FailAt(12.5, 3, {.sections_lost = {{2, 3}}});
  const PlanEdit& edit = edited.edit;
  EXPECT_THAT(edit.redone, IsEmpty());
  EXPECT_EQ(edit.moved_again, 100);
  EXPECT_EQ(
      std::count(edit.state.transfers.begin(), edit.state.transfers.end(), WorkState::kWaiting), 1);
  EXPECT_EQ(edit.plan.steps[3].worker, 0);
}

// All ways to hand out what is left in whole steps, for every lost worker and many moments: the
// edit is never worse than a quarter above the best of them (measured: see the failure text).
TEST(EditPlanTest, IsNearTheBestHandOutOfWholeSteps) {
  for (const WorkerIndex lost : {0, 1, 2}) {
    for (Seconds now_s = 0; now_s < 15; now_s += 0.75) {
      const EditCase edited = LoseAt(now_s, {lost});
      ExpectRight(edited);
      std::vector<bool> alive(3, true);
      alive[At(lost)] = false;
      const WorkLeft left =
          FindWorkLeft(edited.before, edited.state, alive, PartlyRead::kMadeAgain);
      std::vector<StepIndex> homeless;
      for (StepIndex s = 0; s < 6; ++s) {
        if (left.homeless[At(s)]) homeless.push_back(s);
      }
      Seconds best_s = 1e9;
      for (int ways = 0; ways < 1 << homeless.size(); ++ways) {
        std::vector<std::vector<StepHome>> homes(6);
        for (std::size_t i = 0; i < homeless.size(); ++i) {
          const ComputeStep& step = edited.before.steps[At(homeless[i])];
          const WorkerIndex other = (lost + 1 + ((ways >> i) & 1)) % 3;
          homes[At(homeless[i])] = {{other, step.input_begin, step.input_end, step.duration_s}};
        }
        EditedPlan tried = ApplyHomes(edited.before, edited.state, left, homes);
        best_s = std::min(best_s, OrderRest(OrderEffort::kSlack, &tried)->makespan_s);
      }
      EXPECT_LE(edited.edit.prediction.makespan_s - now_s, 1.25 * (best_s - now_s) + 1e-9)
          << "lost " << lost << " at " << now_s << " s; best " << best_s;
    }
  }
}

}  // namespace
}  // namespace weir::planner
