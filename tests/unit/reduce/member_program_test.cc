// A member's part of a plan, by hand and against the plan.

#include "runtime/reduce/member_program.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "runtime/reduce/group_plans.h"

namespace weir::reduce {
namespace {

std::shared_ptr<const GroupPlan> PlanOf(std::int32_t size, CallKind kind, std::uint64_t count,
                                        bool commutative = true) {
  Signature call;
  call.kind = kind;
  call.count = count;
  const Operation operation = Operation::Of<double>(
      "op", [](std::span<const double>, std::span<const double>, std::span<double>) {},
      {.commutative = commutative});
  const auto made = MakeGroupPlan({size, 1e-7, 1e-4, 0, 0.97, 1e-10}, call, operation);
  EXPECT_TRUE(made.ok()) << made.status();
  return *made;
}

TEST(MemberProgramTest, TwoMembersByHand) {
  const auto plan = PlanOf(2, CallKind::kReduce, 100);
  const auto root = ProgramOf(plan->plan, 0, 8, 32 << 10);
  const auto leaf = ProgramOf(plan->plan, 1, 8, 32 << 10);
  ASSERT_TRUE(root.ok() && leaf.ok());
  ASSERT_EQ(root->receives.size(), 1);
  EXPECT_TRUE(root->sends.empty());
  EXPECT_EQ(root->receives[0].peer, 1);
  ASSERT_EQ(root->receives[0].folds.size(), 1);
  EXPECT_EQ(root->receives[0].folds[0].begin, 0);
  EXPECT_EQ(root->receives[0].folds[0].end, 100);
  EXPECT_TRUE(root->receives[0].folds[0].held_left);
  ASSERT_EQ(root->steps.size(), 1);
  EXPECT_EQ(root->steps[0].receives, std::vector<std::int32_t>{0});
  ASSERT_EQ(leaf->sends.size(), 1);
  EXPECT_TRUE(leaf->receives.empty());
  EXPECT_EQ(leaf->sends[0].after_steps, 0);
  EXPECT_TRUE(leaf->sends[0].granted);
}

// Whatever one sends to another, that one receives from it, in the same order.
TEST(MemberProgramTest, SendsAndReceivesOfAPairAgree) {
  for (std::int32_t size = 1; size <= 9; ++size) {
    for (const CallKind kind : {CallKind::kReduce, CallKind::kAllReduce, CallKind::kBroadcast}) {
      for (const bool commutative : {true, false}) {
        const auto plan = PlanOf(size, kind, 50'000, commutative);
        std::vector<MemberProgram> programs;
        for (std::int32_t rank = 0; rank < size; ++rank) {
          auto program = ProgramOf(plan->plan, rank, 8, 32 << 10);
          ASSERT_TRUE(program.ok()) << program.status();
          programs.push_back(*std::move(program));
        }
        for (std::int32_t from = 0; from < size; ++from) {
          for (std::int32_t to = 0; to < size; ++to) {
            std::vector<planner::TransferIndex> sent;
            std::vector<planner::TransferIndex> received;
            for (const auto& send : programs[planner::At(from)].sends) {
              if (send.peer == to) sent.push_back(send.transfer);
            }
            for (const auto& receive : programs[planner::At(to)].receives) {
              if (receive.peer == from) received.push_back(receive.transfer);
            }
            EXPECT_EQ(sent, received) << size << " members, " << from << " to " << to;
          }
        }
      }
    }
  }
}

TEST(MemberProgramTest, OnlyTheWindowIsGrantedFromTheStart) {
  const auto plan = PlanOf(2, CallKind::kReduce, 1'000'000, false);
  const auto leaf = ProgramOf(plan->plan, 1, 8, 32 << 10);
  const auto root = ProgramOf(plan->plan, 0, 8, 32 << 10);
  ASSERT_TRUE(leaf.ok() && root.ok());
  for (std::size_t i = 0; i < leaf->sends.size(); ++i) {
    EXPECT_EQ(leaf->sends[i].granted, root->receives[i].bytes_before <= 32 << 10);
  }
}

}  // namespace
}  // namespace weir::reduce
