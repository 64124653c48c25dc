#include "runtime/transfer/one_port.h"

#include <gtest/gtest.h>

namespace weir::transfer {
namespace {

constexpr char kOneJob[] = "j-1";
constexpr char kOtherJob[] = "j-2";
constexpr bool kOrdered = false;
constexpr bool kConcurrent = true;

TEST(OnePortTest, AnOrderedTransferKeepsAllOthersOutUntilItsTail) {
  OnePort port;
  EXPECT_EQ(port.Ask(kOneJob, kOrdered), OnePort::Admission::kFree);
  const OnePort::Id id = port.Begin(kOneJob, 100, 30, kOrdered);
  EXPECT_EQ(port.Move(id, 69), 31);
  EXPECT_EQ(port.Ask(kOneJob, kOrdered), OnePort::Admission::kBusy);
  EXPECT_EQ(port.Ask(kOneJob, kConcurrent), OnePort::Admission::kBusy);
  EXPECT_EQ(port.Move(id, 1), 30);
  EXPECT_EQ(port.Ask(kOneJob, kOrdered), OnePort::Admission::kNearlyDone);
  port.End(id);
  EXPECT_EQ(port.Ask(kOneJob, kOrdered), OnePort::Admission::kFree);
}

TEST(OnePortTest, ConcurrentTransfersKeepOnlyOrderedOnesOut) {
  OnePort port;
  const OnePort::Id first = port.Begin(kOneJob, 100, 0, kConcurrent);
  EXPECT_EQ(port.Ask(kOneJob, kConcurrent), OnePort::Admission::kFree);
  const OnePort::Id second = port.Begin(kOneJob, 100, 0, kConcurrent);
  EXPECT_EQ(port.Ask(kOneJob, kOrdered), OnePort::Admission::kBusy);
  port.Move(first, 100);
  EXPECT_EQ(port.Ask(kOneJob, kOrdered), OnePort::Admission::kBusy)
      << "the other one has not moved";
  port.Move(second, 100);
  EXPECT_EQ(port.Ask(kOneJob, kOrdered), OnePort::Admission::kNearlyDone);
  port.End(first);
  port.End(second);
  EXPECT_EQ(port.Ask(kOneJob, kOrdered), OnePort::Admission::kFree);
}

TEST(OnePortTest, WithoutATailAnotherMayWaitOnlyOnceAllHasMoved) {
  OnePort port;
  const OnePort::Id id = port.Begin(kOneJob, 10, 0, kOrdered);
  port.Move(id, 9);
  EXPECT_EQ(port.Ask(kOneJob, kOrdered), OnePort::Admission::kBusy);
  port.Move(id, 1);
  EXPECT_EQ(port.Ask(kOneJob, kOrdered), OnePort::Admission::kNearlyDone);
}

TEST(OnePortTest, JobsDoNotKeepEachOtherOut) {
  OnePort port;
  const OnePort::Id first = port.Begin(kOneJob, 100, 0, kOrdered);
  EXPECT_EQ(port.Ask(kOtherJob, kOrdered), OnePort::Admission::kFree);
  const OnePort::Id second = port.Begin(kOtherJob, 10, 0, kOrdered);
  EXPECT_EQ(port.Ask(kOtherJob, kOrdered), OnePort::Admission::kBusy) << "its own one does";
  port.End(second);
  EXPECT_EQ(port.Ask(kOneJob, kOrdered), OnePort::Admission::kBusy);
  port.End(first);
  EXPECT_EQ(port.Ask(kOneJob, kOrdered), OnePort::Admission::kFree);
}

TEST(OnePortTest, ALaterEditSupersedesWhatIsInTheMiddle) {
  OnePort port;
  const OnePort::Id ends = port.Begin(kOneJob, 100, 30, kOrdered);
  port.Move(ends, 80);
  EXPECT_TRUE(port.Superseded(kOneJob, 1).empty())
      << "nearly done: the next one was granted in time";
  const OnePort::Id dropped = port.Begin(kOneJob, 100, 30, kOrdered);
  EXPECT_EQ(port.Ask(kOneJob, kOrdered), OnePort::Admission::kBusy);
  EXPECT_EQ(port.Ask(kOneJob, kOrdered, 1), OnePort::Admission::kNearlyDone) << "once it has ended";
  EXPECT_EQ(port.Superseded(kOneJob, 1), std::vector<OnePort::Id>{dropped});
  EXPECT_TRUE(port.Superseded(kOtherJob, 1).empty());
  port.End(dropped);
  port.End(ends);
  port.Begin(kOneJob, 100, 30, kOrdered, 1);
  EXPECT_EQ(port.Ask(kOneJob, kOrdered, 1), OnePort::Admission::kBusy);
  EXPECT_EQ(port.Ask(kOneJob, kOrdered, 0), OnePort::Admission::kBusy) << "of an earlier edit";
}

}  // namespace
}  // namespace weir::transfer
