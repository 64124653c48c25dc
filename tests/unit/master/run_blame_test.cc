#include "runtime/master/job/run_blame.h"

#include "gtest/gtest.h"
#include "runtime/base/limits.h"

namespace weir::master {
namespace {

using Cure = RunBlame::Cure;

TEST(RunBlameTest, WhatWasReceivedIsFetchedOnceMoreAndThenMadeAgain) {
  RunBlame blame;
  EXPECT_EQ(blame.Damaged({3, 1}, "a", 7, true), Cure::kFetchAgain);
  EXPECT_EQ(blame.Damaged({3, 1}, "a", 8, true), Cure::kFetchAgain)
      << "another reader, its own disk";
  EXPECT_EQ(blame.Damaged({3, 1}, "a", 7, true), Cure::kMakeAgain);
  EXPECT_EQ(blame.Damaged({3, 1}, "a", 8, true), Cure::kMakeAgain) << "the same run: known";
}

TEST(RunBlameTest, WhatIsReadWhereItWasMadeIsMadeAgainAtOnce) {
  RunBlame blame;
  EXPECT_EQ(blame.Damaged({3, 1}, "a", 7, false), Cure::kMakeAgain);
}

TEST(RunBlameTest, TheSameStepDamagedAgainOnOneWorkerIsItsDisk) {
  RunBlame blame;
  EXPECT_EQ(blame.Damaged({3, 1}, "a", 7, false), Cure::kMakeAgain);
  EXPECT_EQ(blame.Damaged({3, 2}, "b", 7, false), Cure::kMakeAgain) << "elsewhere";
  EXPECT_EQ(blame.Damaged({3, 3}, "a", 7, false), Cure::kLeaveOutMaker);
}

TEST(RunBlameTest, ManyRunsOfOneWorkerAreItsDisk) {
  RunBlame blame;
  for (int step = 1; step < limits::kDamagedRunsMax; ++step) {
    EXPECT_EQ(blame.Damaged({step, 1}, "a", 70, false), Cure::kMakeAgain);
    EXPECT_EQ(blame.Damaged({step, 1}, "a", 71, false), Cure::kMakeAgain);
  }
  EXPECT_EQ(blame.Damaged({50, 1}, "b", 70, false), Cure::kMakeAgain) << "another worker";
  EXPECT_EQ(blame.Damaged({60, 1}, "a", 70, false), Cure::kLeaveOutMaker);
}

}  // namespace
}  // namespace weir::master
