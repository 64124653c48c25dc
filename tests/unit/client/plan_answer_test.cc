// Plans that come in pieces, and from masters that know none.

#include "runtime/client/commands/plan_answer.h"

#include <gtest/gtest.h>

#include <string>

#include "runtime/rpc/plan_pieces.h"
#include "tests/unit/client/scripted_master_test_base.h"

namespace weir::client {
namespace {

class PlanAnswerTest : public ScriptedMasterTest {
 protected:
  PlanAnswerTest() {
    whole_.mutable_plan()->set_plan_id("0123456789abcdef");
    whole_.mutable_plan()->add_notes(std::string(200, 'n'));
    whole_.mutable_actual()->set_makespan_s(3);
  }
  // The master tells the plan in several pieces.
  void TellPieces() {
    master_.plan_pieces = rpc::CutPlan(whole_, whole_.ByteSizeLong() / 3).value();
    ASSERT_GE(master_.plan_pieces.size(), 3u);
    master_.pieces_end = absl::OkStatus();
  }
  static v1::DryRunRequest SomeDryRun() {
    v1::DryRunRequest request;
    request.mutable_spec()->set_job("wordcount");
    request.mutable_spec()->add_inputs("/in");
    return request;
  }
  void ExpectWhole(const absl::StatusOr<v1::GetPlanResponse>& answer) {
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->SerializeAsString(), whole_.SerializeAsString());
  }

  v1::GetPlanResponse whole_;
  ScriptedSession session_{loop_, master_};
};

TEST_F(PlanAnswerTest, IsMadeOfItsPieces) {
  TellPieces();
  ExpectWhole(AskForPlan(session_, {}));
  ExpectWhole(AskForDryRun(session_, SomeDryRun()));
}

TEST_F(PlanAnswerTest, OfAMasterFromBeforeThereWerePiecesComesInOne) {
  master_.whole_plan = whole_;
  ExpectWhole(AskForPlan(session_, {}));
  ExpectWhole(AskForDryRun(session_, SomeDryRun()));
}

TEST_F(PlanAnswerTest, IsNotHalfAPlan) {
  TellPieces();
  master_.plan_pieces.pop_back();
  EXPECT_TRUE(absl::IsDataLoss(AskForPlan(session_, {}).status()));
  master_.pieces_end = absl::UnavailableError("socket closed");
  EXPECT_EQ(AskForPlan(session_, {}).status(), master_.pieces_end);
}

TEST_F(PlanAnswerTest, IsNotWaitedForWithoutEnd) {
  TellPieces();
  master_.plan_pieces.pop_back();
  master_.hold_pieces = true;
  const auto answer = AskForPlan(session_, {}, absl::Milliseconds(20));
  EXPECT_TRUE(absl::IsDeadlineExceeded(answer.status())) << answer.status();
}

TEST_F(PlanAnswerTest, OfADryRunIsLeftWhenItsUserInterrupts) {
  TellPieces();
  master_.hold_pieces = true;
  master_.interrupt_pieces = true;
  const auto answer = AskForDryRun(session_, SomeDryRun());
  EXPECT_TRUE(absl::IsCancelled(answer.status())) << answer.status();
}

}  // namespace
}  // namespace weir::client
