// CheckEdit notices every way of spoiling an edit.

#include "planner/edit/check_edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "planner/plan/units.h"
#include "tests/unit/planner_edit/progress_of.h"
#include "tests/unit/planner_edit/three_by_three.h"

namespace weir::planner {
namespace {

using ::testing::HasSubstr;

void ExpectRefused(EditCase edited, const std::function<void(PlanEdit*)>& spoil,
                   const std::string& why) {
  ASSERT_EQ(CheckEdit(edited.before, edited.state, edited.change, edited.edit), absl::OkStatus());
  spoil(&edited.edit);
  const absl::Status refused = CheckEdit(edited.before, edited.state, edited.change, edited.edit);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(), HasSubstr(why));
}

// With map 2 in two parts.
EditCase Cut() { return LoseAt(5, {2}); }
// With map 2 made again in parts (steps 6 and 7) for reducer 1 (step 4) and 2 (step 5).
EditCase MadeInParts() { return LoseAt(11.5, {2}); }
// With map 2 made again whole.
EditCase MadeAgain() { return LoseAt(11.5, {1, 2}); }

std::size_t FirstIn(const PlanEdit& edit, WorkState work) {
  return static_cast<std::size_t>(
      std::find(edit.state.transfers.begin(), edit.state.transfers.end(), work) -
      edit.state.transfers.begin());
}

// Step 6 is the second part of map 2: some reducer is on its worker, another is not.
TEST(CheckEditTest, RefusesADroppedSection) {
  for (const bool in_place : {true, false}) {
    ExpectRefused(
        Cut(),
        [in_place](PlanEdit* edit) {
          std::erase_if(edit->plan.sections, [&](const Section& section) {
            const bool same = edit->plan.steps[At(section.producer)].worker ==
                              edit->plan.steps[At(section.consumer)].worker;
            return section.producer == 6 && same == in_place;
          });
        },
        "gets input [0, 750), before the edit input [0, 900)");
  }
}

TEST(CheckEditTest, RefusesARangeThatIsReadTwice) {
  ExpectRefused(
      MadeInParts(), [](PlanEdit* edit) { edit->plan.steps[7].input_begin -= 10; },
      "does not get every byte of input once");
}

TEST(CheckEditTest, RefusesARangeThatIsCountedTwiceOrNotAtAll) {
  ExpectRefused(
      Cut(), [](PlanEdit* edit) { edit->plan.steps[6].input_begin -= 10; }, "is now counted");
  ExpectRefused(
      Cut(), [](PlanEdit* edit) { edit->plan.steps[6].is_rerun = true; }, "is now counted");
  ExpectRefused(
      MadeInParts(), [](PlanEdit* edit) { edit->plan.steps[7].is_rerun = false; },
      "is counted twice");
}

TEST(CheckEditTest, RefusesToMakeInPartsWhatIsNotGone) {
  ExpectRefused(
      MadeInParts(), [](PlanEdit* edit) { edit->in_parts = {0}; }, "is there, and is made again");
  ExpectRefused(
      MadeInParts(), [](PlanEdit* edit) { edit->in_parts = {5}; }, "which is not done");
}

TEST(CheckEditTest, RefusesPartsOfWhatHasNone) {
  EditCase edited = MadeInParts();
  edited.change.whole_steps = true;
  const absl::Status refused = CheckEdit(edited.before, edited.state, edited.change, edited.edit);
  EXPECT_THAT(refused.message(), HasSubstr("in parts, which it cannot be"));
}

TEST(CheckEditTest, RefusesARunThatIsGone) {
  const auto believe_in_run = [](bool there) {
    return [there](PlanEdit* edit) {
      edit->plan.steps[2].worker = 2;
      edit->state.steps[2] = WorkState::kDone;
      edit->state.step_began_s[2] = 0;
      edit->state.step_ended_s[2] = 10;
      edit->state.run_there[2] = there;
      std::erase(edit->redone, 2);
    };
  };
  ExpectRefused(MadeAgain(), believe_in_run(true), "is said to be there, but is not");
  ExpectRefused(MadeAgain(), believe_in_run(false), "the run of step 2, which is gone");
}

TEST(CheckEditTest, RefusesATransferFromALostWorker) {
  ExpectRefused(
      MadeInParts(),
      [](PlanEdit* edit) { edit->plan.transfers[FirstIn(*edit, WorkState::kWaiting)].sender = 2; },
      "of which one is lost");
}

TEST(CheckEditTest, RefusesWorkOnALostWorker) {
  for (const StepIndex step : {5, 6}) {
    ExpectRefused(
        LoseAt(13, {2}), [step](PlanEdit* edit) { edit->plan.steps[At(step)].worker = 2; },
        "is to run on worker 2, which is lost");
  }
}

TEST(CheckEditTest, RefusesOtherNumbers) {
  ExpectRefused(
      Cut(), [](PlanEdit* edit) { std::swap(edit->plan.steps[3], edit->plan.steps[4]); },
      "is another one after the edit");
  ExpectRefused(
      Cut(), [](PlanEdit* edit) { edit->redone.clear(); }, "names other steps");
}

TEST(CheckEditTest, RefusesAStepThatIsDoneAgainWithoutNeed) {
  ExpectRefused(
      MadeInParts(),
      [](PlanEdit* edit) {
        edit->state.steps[0] = WorkState::kWaiting;
        edit->state.step_began_s[0] = edit->state.step_ended_s[0] = -1;
        edit->state.run_there[0] = false;
        edit->redone = {0};
        for (std::size_t t = 0; t < edit->plan.transfers.size(); ++t) {
          if (edit->plan.transfers[t].producer != 0) continue;
          if (edit->state.transfers[t] != WorkState::kUnderWay) continue;
          edit->state.transfers[t] = WorkState::kWaiting;
          edit->state.transfer_began_s[t] = -1;
        }
      },
      "is done again, but nobody needs that");
}

// Reducer 1 could have the section of map 0, whose run is there; a new step must not make it.
TEST(CheckEditTest, RefusesToMakeInPartsWhatIsThere) {
  ExpectRefused(
      MadeInParts(),
      [](PlanEdit* edit) {
        ComputeStep part = edit->plan.steps[0];
        part.index_in_layer = 5;
        part.is_rerun = true;
        part.after_transfers.clear();
        const auto number = static_cast<StepIndex>(edit->plan.steps.size());
        edit->plan.steps.push_back(part);
        edit->state.steps.push_back(WorkState::kWaiting);
        edit->state.step_began_s.push_back(-1);
        edit->state.step_ended_s.push_back(-1);
        edit->state.run_there.push_back(false);
        for (Section& section : edit->plan.sections) {
          if (section.producer == 0 && section.consumer == 3) section.producer = number;
        }
        std::replace(edit->plan.steps[3].after_steps.begin(), edit->plan.steps[3].after_steps.end(),
                     0, number);
      },
      "is there, and is made again");
}

// An edit that is right of a slow worker is not of one that is as fast as planned.
TEST(CheckEditTest, RefusesToMoveWhatCouldStay) {
  EditCase slow = ChangeAtTheStart({.rate_factor = {1, 1, 0.25}});
  ASSERT_EQ(CheckEdit(slow.before, slow.state, slow.change, slow.edit), absl::OkStatus());
  slow.change.rate_factor.clear();
  EXPECT_THAT(CheckEdit(slow.before, slow.state, slow.change, slow.edit).message(),
              HasSubstr("but nothing happened there"));
}

TEST(CheckEditTest, RefusesToForgetWhatArrivedOrIsUnderWay) {
  ExpectRefused(
      MadeInParts(),
      [](PlanEdit* edit) {
        const std::size_t t = FirstIn(*edit, WorkState::kDone);
        edit->state.transfers[t] = WorkState::kWaiting;
        edit->state.transfer_began_s[t] = edit->state.transfer_ended_s[t] = -1;
      },
      "had arrived, and is forgotten");
  ExpectRefused(
      MadeInParts(),
      [](PlanEdit* edit) {
        const std::size_t t = FirstIn(*edit, WorkState::kUnderWay);
        edit->state.transfers[t] = WorkState::kWaiting;
        edit->state.transfer_began_s[t] = -1;
      },
      "was under way between survivors, and is forgotten");
}

TEST(CheckEditTest, RefusesPiecesThatDoNotTile) {
  ExpectRefused(
      Cut(),
      [](PlanEdit* edit) { edit->plan.transfers[FirstIn(*edit, WorkState::kWaiting)].bytes -= 1; },
      "bytes; the section has");
  ExpectRefused(
      Cut(),
      [](PlanEdit* edit) { edit->plan.transfers[FirstIn(*edit, WorkState::kWaiting)].offset += 1; },
      "the one before it ends at 0");
}

// Another reducer waits in its place.
TEST(CheckEditTest, RefusesAReaderThatDoesNotWait) {
  ExpectRefused(
      Cut(),
      [](PlanEdit* edit) {
        const std::size_t t = FirstIn(*edit, WorkState::kWaiting);
        const StepIndex reader = edit->plan.transfers[t].consumer;
        std::erase(edit->plan.steps[At(reader)].after_transfers, static_cast<TransferIndex>(t));
        ComputeStep& other = edit->plan.steps[reader == 3 ? 4 : 3];
        other.after_transfers.push_back(static_cast<TransferIndex>(t));
      },
      "does not wait for transfer");
  ExpectRefused(
      Cut(),
      [](PlanEdit* edit) {
        ASSERT_EQ(std::erase(edit->plan.steps[3].after_steps, 0), 1u);
        edit->plan.steps[4].after_steps.push_back(0);
      },
      "The section from step 0 to step 3 has no transfer and is not read in place");
}

TEST(CheckEditTest, RefusesTimesAndOrdersThatCannotBe) {
  ExpectRefused(
      Cut(), [](PlanEdit* edit) { edit->plan.steps[5].start_s -= 1; }, "is planned to start at");
  ExpectRefused(
      Cut(), [](PlanEdit* edit) { edit->plan.summary.makespan_s += 1; }, "says that it ends at");
  ExpectRefused(
      Cut(),
      [](PlanEdit* edit) {
        for (auto& order : edit->plan.compute_order) std::reverse(order.begin(), order.end());
      },
      "stands behind one that waits");
  ExpectRefused(
      Cut(),
      [](PlanEdit* edit) {
        for (auto& order : edit->plan.send_order) order.clear();
      },
      "send_order");
}

// Map 2 is under way on a worker that is as fast as planned; the edit was made for a slow one.
TEST(CheckEditTest, RefusesToGiveUpWhatIsNotSlow) {
  EditCase edited = LoseAt(5, {});
  edited.change.rate_factor = {1, 1, 0.1};
  edited.edit = *EditPlan(edited.before, edited.state, edited.change);
  ASSERT_EQ(edited.edit.redone, std::vector<StepIndex>{2});
  ASSERT_EQ(CheckEdit(edited.before, edited.state, edited.change, edited.edit), absl::OkStatus());
  edited.change.rate_factor = {0.1, 1, 1};
  const absl::Status refused = CheckEdit(edited.before, edited.state, edited.change, edited.edit);
  EXPECT_THAT(refused.message(), HasSubstr("Step 2 is done again, but nobody needs that"));
}

}  // namespace
}  // namespace weir::planner
