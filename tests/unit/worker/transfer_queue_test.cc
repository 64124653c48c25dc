#include "runtime/worker/transfer_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace weir::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

v1::GrantTransferRequest Grant(int transfer, bool concurrent = false, int plan_edit = 0) {
  v1::GrantTransferRequest grant;
  grant.mutable_fence()->set_plan_edit(plan_edit);
  grant.mutable_order()->set_transfer(transfer);
  grant.mutable_order()->set_concurrent(concurrent);
  return grant;
}

class TransferQueueTest : public testing::Test {
 protected:
  std::vector<int> Ready() {
    std::vector<int> ids;
    for (const auto& grant : queue_.TakeReady()) ids.push_back(grant.order().transfer());
    return ids;
  }
  TransferQueue queue_;
};

TEST_F(TransferQueueTest, RunsOneAtATimeInTheOrderOfTheGrants) {
  ASSERT_TRUE(queue_.Add(Grant(5)).ok());
  ASSERT_TRUE(queue_.Add(Grant(2)).ok());
  EXPECT_THAT(Ready(), ElementsAre(5));
  EXPECT_THAT(Ready(), IsEmpty());
  queue_.OnDone(5);
  EXPECT_THAT(Ready(), ElementsAre(2));
}

TEST_F(TransferQueueTest, WhatAnEditHasDroppedHoldsNobodyUp) {
  for (int transfer : {1, 2}) ASSERT_TRUE(queue_.Add(Grant(transfer)).ok());
  EXPECT_THAT(Ready(), ElementsAre(1));
  ASSERT_TRUE(queue_.Add(Grant(7, false, 1)).ok());
  EXPECT_THAT(Ready(), IsEmpty()) << "grants keep their order";
  queue_.OnDone(1);
  EXPECT_THAT(Ready(), ElementsAre(2, 7))
      << "nobody is granted a port that is taken, so 2 was dropped";
  ASSERT_TRUE(queue_.Add(Grant(8, false, 1)).ok());
  EXPECT_THAT(Ready(), IsEmpty());
  queue_.OnDone(7);
  EXPECT_THAT(Ready(), ElementsAre(8));
}

TEST_F(TransferQueueTest, TheNextStartsWhenTheLineIsNearlyFree) {
  for (int transfer : {1, 2, 3}) ASSERT_TRUE(queue_.Add(Grant(transfer)).ok());
  EXPECT_THAT(Ready(), ElementsAre(1));
  queue_.OnNearlyDone(1);
  EXPECT_THAT(Ready(), ElementsAre(2));
  queue_.OnNearlyDone(2);
  EXPECT_THAT(Ready(), IsEmpty()) << "two are on their way already";
  queue_.OnDone(1);
  EXPECT_THAT(Ready(), ElementsAre(3));
}

TEST_F(TransferQueueTest, ConcurrentGrantsHoldNothingUp) {
  ASSERT_TRUE(queue_.Add(Grant(1, true)).ok());
  ASSERT_TRUE(queue_.Add(Grant(2, true)).ok());
  ASSERT_TRUE(queue_.Add(Grant(3)).ok());
  EXPECT_THAT(Ready(), ElementsAre(1, 2, 3));
}

TEST_F(TransferQueueTest, WhatIsCancelledIsNotStarted) {
  for (int transfer : {1, 2, 3}) ASSERT_TRUE(queue_.Add(Grant(transfer)).ok());
  EXPECT_THAT(Ready(), ElementsAre(1));
  EXPECT_FALSE(queue_.Remove(2, 1)) << "another attempt";
  EXPECT_TRUE(queue_.Remove(2, 0));
  EXPECT_FALSE(queue_.Remove(1, 0)) << "runs already";
  queue_.OnDone(1);
  EXPECT_THAT(Ready(), ElementsAre(3));
}

TEST_F(TransferQueueTest, IsBounded) {
  for (std::size_t i = 0; i < TransferQueue::kWaitingMax; ++i) {
    ASSERT_TRUE(queue_.Add(Grant(static_cast<int>(i))).ok());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(queue_.Add(Grant(-1))));
  queue_.ClearWaiting();
  EXPECT_THAT(Ready(), IsEmpty());
}

}  // namespace
}  // namespace weir::worker
