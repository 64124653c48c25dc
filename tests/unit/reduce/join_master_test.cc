// Members that ask a master to join, and its answers that come to nothing.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/reduce/rendezvous.h"
#include "runtime/rpc/serve.h"

namespace weir::reduce {
namespace {

// Answers one call after the other as told, the last answer ever after.
struct ScriptedRendezvous {
  void Handle(rpc::Call<rpc::JoinGroup> call) {
    requests.push_back(call.request);
    const std::size_t at = std::min(requests.size(), answers.size()) - 1;
    if (!answers[at].ok()) return call.reply(answers[at]);
    v1::JoinGroupResponse response;
    response.set_group_id("g");
    call.reply(std::move(response));
  }
  template <typename Method>
  requires(Method::kStreams) std::unique_ptr<rpc::Subscription> Handle(rpc::Call<Method>) {
    return nullptr;
  }
  template <typename Method>
  void Handle(rpc::Call<Method> call) {
    call.reply(absl::UnimplementedError(Method::kName));
  }
  std::vector<absl::Status> answers;
  std::vector<v1::JoinGroupRequest> requests;
  const rpc::JobApi api = rpc::ApiOf<rpc::JobService>(*this);
};

class JoinMasterTest : public testing::Test {
 protected:
  absl::StatusOr<v1::JoinGroupResponse> Join(std::int32_t wait_ms) {
    v1::JoinGroupRequest request;
    request.set_group("g");
    request.set_size(1);
    request.set_rank(-1);
    request.set_member_key("k");
    request.set_endpoint("host:1");
    request.set_wait_ms(wait_ms);
    return AskToJoin(master_.api, loop_, request);
  }
  env::AsioEventLoop loop_;
  ScriptedRendezvous master_;
};

TEST_F(JoinMasterTest, WhatCameToNothingIsAskedAgainUnderTheSameKey) {
  master_.answers = {absl::UnavailableError("socket closed"), absl::DeadlineExceededError("silent"),
                     absl::AbortedError("the member has asked again"), absl::OkStatus()};
  const auto joined = Join(60'000);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ(joined->group_id(), "g");
  ASSERT_EQ(master_.requests.size(), 4u);
  std::int32_t waits_ms = 60'001;
  for (const v1::JoinGroupRequest& request : master_.requests) {
    EXPECT_EQ(request.member_key(), "k");
    EXPECT_LT(request.wait_ms(), waits_ms) << "what is left of the wait";
    waits_ms = request.wait_ms();
  }
}

TEST_F(JoinMasterTest, ARefusalIsTakenAtItsWord) {
  master_.answers = {absl::AlreadyExistsError("rank 0 is taken")};
  EXPECT_TRUE(absl::IsAlreadyExists(Join(60'000).status()));
  EXPECT_EQ(master_.requests.size(), 1u);
}

TEST_F(JoinMasterTest, OnceItsWaitIsOverAMemberHearsWhatTheLastCallCameTo) {
  master_.answers = {absl::UnavailableError("nobody listens"), absl::AbortedError("x"),
                     absl::DeadlineExceededError("2 of 3 members")};
  EXPECT_TRUE(absl::IsDeadlineExceeded(Join(700).status()));
  EXPECT_GT(master_.requests.size(), 2u);
}

}  // namespace
}  // namespace weir::reduce
