// Plans of calls: the same from the same facts, for every size, and told apart when they differ.

#include "runtime/reduce/group_plans.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "planner/plan/check_plan.h"

namespace weir::reduce {
namespace {

GroupFacts Facts(std::int32_t size) { return {size, 1e-7, 1e-4, 0, 0.97, 1e-10}; }

Signature Call(CallKind kind, std::uint64_t count, std::int32_t root = 0) {
  Signature call;
  call.kind = kind;
  call.count = count;
  call.root = root;
  return call;
}

TEST(GroupPlansTest, EveryCallHasAPlanThatIsAccepted) {
  for (std::int32_t size = 1; size <= 17; ++size) {
    for (const CallKind kind : {CallKind::kReduce, CallKind::kAllReduce, CallKind::kBroadcast}) {
      for (const std::uint64_t count : {0, 1, 5, 1000, 100'000}) {
        const auto made = MakeGroupPlan(Facts(size), Call(kind, count, 0), Operation::Sum());
        ASSERT_TRUE(made.ok()) << made.status() << " size " << size << " count " << count;
        EXPECT_EQ(planner::CheckPlan((*made)->plan), absl::OkStatus());
        EXPECT_EQ((*made)->plan.transfer_order, planner::TransferOrder::kStrict);
        EXPECT_EQ((*made)->prediction.makespan_s > 0, size > 1);
      }
    }
  }
}

// 2^61 elements of 8 bytes are 2^64 bytes, which was taken for none.
TEST(GroupPlansTest, ArraysWhoseBytesAreNoNumberAreRefused) {
  constexpr std::uint64_t kWraps = std::uint64_t{1} << 61;
  for (const CallKind kind : {CallKind::kReduce, CallKind::kAllReduce, CallKind::kBroadcast}) {
    for (const std::uint64_t count : {kWraps, kWraps + 1000, ~std::uint64_t{0}, kWraps / 4}) {
      const auto made = MakeGroupPlan(Facts(4), Call(kind, count), Operation::Sum());
      EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument) << count;
    }
  }
}

TEST(GroupPlansTest, FingerprintsTellSchedulesApart) {
  const auto print = [](std::int32_t size, std::uint64_t count, std::int32_t root) {
    return (*MakeGroupPlan(Facts(size), Call(CallKind::kReduce, count, root), Operation::Sum()))
        ->fingerprint;
  };
  EXPECT_EQ(print(5, 10'000, 0), print(5, 10'000, 0));
  EXPECT_NE(print(5, 10'000, 0), print(5, 10'001, 0));
  EXPECT_NE(print(5, 10'000, 0), print(5, 10'000, 1));
  EXPECT_NE(print(5, 10'000, 0), print(6, 10'000, 0));
}

TEST(GroupPlansTest, TheWindowIsWhatArrivesWhileAGrantTravels) {
  EXPECT_EQ(WindowBytes({8, 1e-6, 1e-4, 0, 0, 0}), 8 << 10) << "slow links: the least";
  EXPECT_EQ(WindowBytes({8, 1e-7, 5e-4, 0, 0, 0}), 30'000);
  EXPECT_EQ(WindowBytes({8, 1e-7, 1e-1, 0, 0, 0}), 64 << 10);
  EXPECT_EQ(WindowBytes({8, 1e-9, 1e-5, 0, 0, 0}), 64 << 10);
}

TEST(GroupPlansTest, ACostlyOperationGetsASchedulesOfItsOwn) {
  const Operation costly = Operation::Of<double>(
      "costly", [](std::span<const double>, std::span<const double>, std::span<double>) {},
      {.seconds_per_element = 8e-7});
  const Signature call = Call(CallKind::kReduce, 1'000'000);
  const auto cheap_plan = MakeGroupPlan(Facts(8), call, Operation::Sum());
  const auto costly_plan = MakeGroupPlan(Facts(8), call, costly);
  ASSERT_TRUE(cheap_plan.ok() && costly_plan.ok());
  EXPECT_GT((*costly_plan)->prediction.makespan_s, (*cheap_plan)->prediction.makespan_s);
  // Combining hides behind moving: far from twice the time.
  EXPECT_LT((*costly_plan)->prediction.makespan_s, 1.3 * (*cheap_plan)->prediction.makespan_s);
}

}  // namespace
}  // namespace weir::reduce
