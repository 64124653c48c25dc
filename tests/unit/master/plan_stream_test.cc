// Plans in pieces: how a stream of them is told, and what the master tells.

#include "runtime/master/plan_stream.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/rpc/plan_pieces.h"
#include "tests/sim/virtual_time.h"
#include "tests/unit/master/master_fixture.h"

namespace weir::master {
namespace {

struct HeldPool final : env::WorkPool {
  void Run(env::Task work) override { held.push_back(std::move(work)); }
  std::vector<env::Task> held;
};

struct Heard {
  int num_pieces = 0;
  rpc::PlanPieces pieces;
  std::optional<absl::Status> end;
};

class PlanStreamTest : public ::testing::Test {
 protected:
  PlanStreamTest() { answer_.mutable_plan()->add_notes(std::string(100, 'n')); }

  PlanStream Open(std::size_t piece_bytes) {
    return OpenPlanStream(
        *loop_, pool_,
        [this](const v1::PlanPiece& piece) {
          ++heard_.num_pieces;
          heard_.pieces.Add(piece);
          if (leave_at_once_) stream_.subscription.reset();
        },
        [this](absl::Status status) { heard_.end = std::move(status); }, piece_bytes);
  }
  void RunAll() {
    while (time_.RunNext()) {
    }
  }
  void ExpectWhole() {
    ASSERT_TRUE(heard_.end && heard_.end->ok()) << heard_.end.value_or(absl::UnknownError("none"));
    const auto whole = heard_.pieces.Whole();
    ASSERT_TRUE(whole.ok()) << whole.status();
    EXPECT_EQ(whole->SerializeAsString(), answer_.SerializeAsString());
  }

  sim::VirtualTime time_;
  const std::shared_ptr<sim::ProcessLoop> loop_ = std::make_shared<sim::ProcessLoop>(time_);
  HeldPool pool_;
  v1::GetPlanResponse answer_;
  Heard heard_;
  bool leave_at_once_ = false;
  PlanStream stream_;
};

TEST_F(PlanStreamTest, WhatFitsOnePieceIsToldInALaterTurn) {
  stream_ = Open(answer_.ByteSizeLong());
  stream_.reply(answer_);
  EXPECT_EQ(heard_.num_pieces, 0) << "inside the call";
  RunAll();
  EXPECT_EQ(heard_.num_pieces, 1);
  EXPECT_TRUE(pool_.held.empty());
  ExpectWhole();
}

TEST_F(PlanStreamTest, WhatDoesNotIsCutOnThePool) {
  stream_ = Open(answer_.ByteSizeLong() - 1);
  stream_.reply(answer_);
  RunAll();
  EXPECT_EQ(heard_.num_pieces, 0) << "the loop has cut it";
  ASSERT_EQ(pool_.held.size(), 1u);
  pool_.held[0]();
  RunAll();
  EXPECT_EQ(heard_.num_pieces, 2);
  ExpectWhole();
}

TEST_F(PlanStreamTest, SaysWhyThereIsNoPlan) {
  stream_ = Open(1);
  stream_.reply(absl::NotFoundError("no such job"));
  EXPECT_FALSE(heard_.end) << "inside the call";
  RunAll();
  EXPECT_EQ(heard_.end, absl::NotFoundError("no such job"));
  EXPECT_EQ(heard_.num_pieces, 0);
}

TEST_F(PlanStreamTest, WhoHasLeftHearsNothingMore) {
  leave_at_once_ = true;
  stream_ = Open(answer_.ByteSizeLong() / 3);
  stream_.reply(answer_);
  ASSERT_EQ(pool_.held.size(), 1u);
  pool_.held[0]();
  RunAll();
  EXPECT_EQ(heard_.num_pieces, 1);
  EXPECT_FALSE(heard_.end);
  stream_ = Open(answer_.ByteSizeLong());
  stream_.subscription.reset();
  stream_.reply(answer_);
  RunAll();
  EXPECT_EQ(heard_.num_pieces, 1);
  EXPECT_FALSE(heard_.end);
}

class PlanInPiecesTest : public MasterTest {
 protected:
  template <typename Method>
  void Ask(const typename Method::Request& request) {
    heard_ = {};
    subscription_ = master().jobs().Subscribe<Method>(
        request,
        [this](const v1::PlanPiece& piece) {
          ++heard_.num_pieces;
          heard_.pieces.Add(piece);
        },
        [this](absl::Status status) { heard_.end = std::move(status); });
    RunFor(absl::Seconds(1));
  }
  template <typename Method>
  v1::GetPlanResponse InOne(const typename Method::Request& request) {
    v1::GetPlanResponse answer;
    master().jobs().Send<Method>(request, [&answer](const auto& response) {
      ASSERT_TRUE(response.ok()) << response.status();
      answer = *response;
    });
    RunFor(absl::Seconds(1));
    return answer;
  }

  Heard heard_;
  std::unique_ptr<rpc::Subscription> subscription_;
};

TEST_F(PlanInPiecesTest, OfAJobThatRanIsWhatComesInOne) {
  AddWorkers(2);
  const auto id = Submit(Spec());
  ASSERT_TRUE(id.ok()) << id.status();
  RunFor(absl::Minutes(1));
  ASSERT_EQ(StatusOf(*id).state(), v1::JOB_STATE_SUCCEEDED);
  v1::GetPlanRequest request;
  request.set_job_id(*id);
  const v1::GetPlanResponse in_one = InOne<rpc::GetPlan>(request);
  ASSERT_GT(in_one.actual().steps_size(), 0);
  Ask<rpc::GetPlanPieces>(request);
  ASSERT_TRUE(heard_.end && heard_.end->ok());
  const auto whole = heard_.pieces.Whole();
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->SerializeAsString(), in_one.SerializeAsString());
  request.set_job_id("j-unknown");
  Ask<rpc::GetPlanPieces>(request);
  ASSERT_TRUE(heard_.end);
  EXPECT_TRUE(absl::IsNotFound(*heard_.end)) << *heard_.end;
}

TEST_F(PlanInPiecesTest, OfADryRunHasItsStepsAndNeedsAJob) {
  AddWorkers(2);
  v1::DryRunRequest request;
  *request.mutable_spec() = EvenSpec(4, 2);
  const v1::GetPlanResponse in_one = InOne<rpc::DryRun>(request);
  ASSERT_GT(in_one.plan().steps_size(), 0);
  Ask<rpc::DryRunPieces>(request);
  ASSERT_TRUE(heard_.end && heard_.end->ok());
  const auto whole = heard_.pieces.Whole();
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->plan().steps_size(), in_one.plan().steps_size());
  Ask<rpc::DryRunPieces>({});
  ASSERT_TRUE(heard_.end);
  EXPECT_TRUE(absl::IsInvalidArgument(*heard_.end)) << *heard_.end;
}

TEST_F(PlanInPiecesTest, AMasterThatDoesNotServeYetSaysSo) {
  sim::World other(1, MasterOptions(), JobRates(), /*print=*/false);
  other.StartMaster();
  std::optional<absl::Status> end;
  const auto stream = other.master().jobs().Subscribe<rpc::GetPlanPieces>(
      {}, [](const v1::PlanPiece&) {}, [&end](absl::Status status) { end = std::move(status); });
  while (!end && other.time().RunNext()) {
  }
  ASSERT_TRUE(end);
  EXPECT_TRUE(absl::IsUnavailable(*end)) << *end;
}

}  // namespace
}  // namespace weir::master
