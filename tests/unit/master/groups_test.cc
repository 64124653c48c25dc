// Groups of processes that reduce with each other: who is answered what, and when.

#include "runtime/master/groups/groups.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/limits.h"
#include "tests/unit/base/moment.h"

namespace weir::master {
namespace {

v1::JoinGroupRequest Request(const std::string& key, int size, int rank = -1,
                             const std::string& group = "g") {
  v1::JoinGroupRequest request;
  request.set_group(group);
  request.set_size(size);
  request.set_rank(rank);
  request.set_member_key(key);
  request.set_endpoint(key + ":1");
  request.set_wait_ms(10'000);
  return request;
}

class GroupsTest : public testing::Test {
 protected:
  std::vector<Groups::Answer> Join(const v1::JoinGroupRequest& request, double now_s = 0) {
    return groups_.Join(request, network_, Moment(now_s), {1, 2, 3, ++serial_});
  }

  Groups groups_;
  v1::GroupNetwork network_;
  std::uint64_t serial_ = 0;
};

TEST_F(GroupsTest, TheLastMemberCompletesTheGroup) {
  network_.set_seconds_per_byte(1e-8);
  EXPECT_TRUE(Join(Request("a", 3, 2)).empty());
  EXPECT_TRUE(Join(Request("b", 3)).empty());
  const auto answers = Join(Request("c", 3, 0));
  ASSERT_EQ(answers.size(), 3);
  const std::vector<std::string> keys = {"c", "b", "a"};
  for (int rank = 0; rank < 3; ++rank) {
    const auto& answer = answers[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(answer.response.ok());
    EXPECT_EQ(answer.member_key, keys[static_cast<std::size_t>(rank)]);
    EXPECT_EQ(answer.response->rank(), rank);
    EXPECT_EQ(answer.response->members(rank).endpoint(), answer.member_key + ":1");
    EXPECT_EQ(answer.response->token(), answers[0].response->token());
    EXPECT_EQ(answer.response->group_id(), answers[0].response->group_id());
    EXPECT_EQ(answer.response->network().seconds_per_byte(), 1e-8);
  }
}

// A group with two members of one rank, and nobody of another, ended the master.
TEST_F(GroupsTest, WhoAsksAgainForARankThatIsTakenIsOut) {
  Join(Request("a", 3, 0));
  Join(Request("b", 3, 1));
  const auto refused = Join(Request("a", 3, 1));
  ASSERT_EQ(refused.size(), 1);
  EXPECT_EQ(refused[0].member_key, "a");
  EXPECT_TRUE(absl::IsAlreadyExists(refused[0].response.status()));
  EXPECT_TRUE(Join(Request("c", 3)).empty()) << "a is missing";
  EXPECT_TRUE(absl::IsFailedPrecondition(Join(Request("b", 2, 1))[0].response.status()));
  Join(Request("b", 3, 1));
  EXPECT_EQ(Join(Request("a", 3, 2)).size(), 3);
}

// Else its rank is taken by one that is dead, or a group is complete that has a dead member.
TEST_F(GroupsTest, WhoIsBackAtItsEndpointTakesThePlaceOfTheOneThatDied) {
  for (const int rank : {0, -1}) {
    const v1::JoinGroupRequest died = Request("died", 2, rank);
    v1::JoinGroupRequest back = Request("back", 2, rank);
    back.set_endpoint(died.endpoint());
    EXPECT_TRUE(Join(died).empty());
    const auto replaced = Join(back);
    ASSERT_EQ(replaced.size(), 1);
    EXPECT_EQ(replaced[0].member_key, "died");
    EXPECT_TRUE(absl::IsAlreadyExists(replaced[0].response.status()));
    const auto answers = Join(Request("other", 2, 1));
    ASSERT_EQ(answers.size(), 2);
    EXPECT_EQ(answers[0].member_key, "back");
    EXPECT_TRUE(answers[0].response.ok());
    EXPECT_EQ(answers[1].member_key, "other");
    EXPECT_TRUE(answers[1].response.ok());
    // Of complete groups, whose members may be asked for again, nothing is left for the next round.
    groups_ = Groups();
  }
}

TEST_F(GroupsTest, WhoIsAloneMayChangeItsMind) {
  Join(Request("a", 3, 2));
  const auto answers = Join(Request("a", 1, 0));
  ASSERT_EQ(answers.size(), 1);
  EXPECT_EQ(answers[0].response->rank(), 0);
}

TEST_F(GroupsTest, OneMemberIsAGroup) {
  const auto answers = Join(Request("a", 1));
  ASSERT_EQ(answers.size(), 1);
  EXPECT_EQ(answers[0].response->rank(), 0);
}

TEST_F(GroupsTest, TheLowestRankThatKnowsTheNetworkIsBelieved) {
  network_.set_seconds_per_byte(1e-8);
  auto second = Request("b", 3, 1);
  second.mutable_network()->set_seconds_per_byte(2e-8);
  auto third = Request("c", 3, 2);
  third.mutable_network()->set_seconds_per_byte(3e-8);
  Join(third);
  Join(second);
  const auto answers = Join(Request("a", 3, 0));
  ASSERT_EQ(answers.size(), 3);
  EXPECT_EQ(answers[0].response->network().seconds_per_byte(), 2e-8);
}

// They were ignored: the group planned as if everything could move at once.
TEST_F(GroupsTest, ChannelsCountThoughNoRateComesWithThem) {
  network_.set_seconds_per_byte(1e-8);
  network_.set_latency_s(1e-4);
  network_.set_channels(7);
  auto first = Request("a", 2, 0);
  first.mutable_network()->set_channels(2);
  auto second = Request("b", 2, 1);
  second.mutable_network()->set_channels(3);
  Join(first);
  const auto answers = Join(second);
  ASSERT_EQ(answers.size(), 2);
  const v1::GroupNetwork& network = answers[0].response->network();
  EXPECT_EQ(network.channels(), 2);
  EXPECT_EQ(network.seconds_per_byte(), 1e-8) << "as the master knows it";
  EXPECT_EQ(network.latency_s(), 1e-4);
}

TEST_F(GroupsTest, AMemberThatAsksAgainIsTheSameMember) {
  Join(Request("a", 2));
  EXPECT_TRUE(Join(Request("a", 2), 1).empty());
  const auto answers = Join(Request("b", 2), 2);
  ASSERT_EQ(answers.size(), 2);
  const auto again = Join(Request("a", 2), 3);
  ASSERT_EQ(again.size(), 1);
  EXPECT_EQ(again[0].response->token(), answers[0].response->token());
}

TEST_F(GroupsTest, ANameIsFreeAgainOnceItsGroupIsComplete) {
  Join(Request("a", 2));
  const auto first = Join(Request("b", 2));
  Join(Request("c", 2));
  const auto second = Join(Request("d", 2));
  ASSERT_EQ(second.size(), 2);
  EXPECT_NE(first[0].response->token(), second[0].response->token());
}

TEST_F(GroupsTest, WhoDisagreesIsRefusedAndTheOthersWaitOn) {
  Join(Request("a", 2, 1));
  const auto size = Join(Request("b", 3));
  ASSERT_EQ(size.size(), 1);
  EXPECT_EQ(size[0].response.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(size[0].response.status().message(), "a:1"));
  const auto rank = Join(Request("c", 2, 1));
  ASSERT_EQ(rank.size(), 1);
  EXPECT_EQ(rank[0].response.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Join(Request("d", 2, 0)).size(), 2);
}

TEST_F(GroupsTest, WhoWaitsTooLongHearsWhoHasCome) {
  Join(Request("a", 3), 0);
  Join(Request("b", 3), 5);
  ASSERT_EQ(groups_.NextWake(), Moment(10));
  EXPECT_TRUE(groups_.TimeOut(Moment(9)).empty());
  const auto answers = groups_.TimeOut(Moment(10));
  ASSERT_EQ(answers.size(), 1);
  EXPECT_EQ(answers[0].member_key, "a");
  EXPECT_EQ(answers[0].response.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(absl::StrContains(answers[0].response.status().message(), "2 of 3 members"));
  // b still waits, for two others.
  Join(Request("c", 3), 11);
  EXPECT_EQ(Join(Request("d", 3), 12).size(), 3);
  groups_.TimeOut(Moment(12) + limits::kGroupRemembered);
  EXPECT_EQ(groups_.NextWake(), std::nullopt);
}

TEST_F(GroupsTest, GroupsWaitBesideEachOtherUpToABound) {
  for (int i = 0; i < limits::kGroupsMax; ++i) {
    EXPECT_TRUE(Join(Request(absl::StrCat("a", i), 2, 0, absl::StrCat("g", i))).empty());
  }
  const auto refused = Join(Request("x", 2, 0, "one more"));
  ASSERT_EQ(refused.size(), 1);
  EXPECT_EQ(refused[0].response.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Join(Request("b", 2, 1, "g7")).size(), 2);
  EXPECT_EQ(groups_.EndAll(absl::UnavailableError("over")).size(), limits::kGroupsMax - 1);
}

}  // namespace
}  // namespace weir::master
