#include "runtime/master/workers/transfer_patience.h"

#include <cstdint>
#include <string_view>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "runtime/base/job_errors.h"
#include "runtime/base/limits.h"
#include "tests/unit/base/moment.h"

namespace weir::master {
namespace {

constexpr std::int32_t kTransfer = 3;

TransferPatience::Failure Silence(std::int64_t moved = 0) {
  return {.code = job_error::kWorkerUnreachable, .moved = moved};
}

TEST(TransferPatienceTest, ASilentOneIsTriedAgainForAWhile) {
  TransferPatience patience;
  EXPECT_TRUE(patience.TryAgain(kTransfer, Silence(), Moment(100)));
  EXPECT_TRUE(patience.TryAgain(kTransfer, Silence(), Moment(107)));
  EXPECT_TRUE(patience.TryAgain(kTransfer, Silence(), Moment(144.9)));
  EXPECT_TRUE(patience.TryAgain(4, Silence(), Moment(144.9))) << "another one";
  EXPECT_FALSE(patience.TryAgain(kTransfer, Silence(), Moment(145)));
}

TEST(TransferPatienceTest, SilencesWithBytesBetweenThemDoNotAddUp) {
  TransferPatience patience;
  EXPECT_TRUE(patience.TryAgain(kTransfer, Silence(1000), Moment(10)));
  EXPECT_TRUE(patience.TryAgain(kTransfer, Silence(), Moment(17)));
  EXPECT_TRUE(patience.TryAgain(kTransfer, Silence(500), Moment(60)));
  EXPECT_TRUE(patience.TryAgain(kTransfer, Silence(), Moment(104.9)));
  EXPECT_FALSE(patience.TryAgain(kTransfer, Silence(), Moment(105)));
}

TEST(TransferPatienceTest, OneThatAlwaysBreaksOffEnds) {
  TransferPatience patience;
  double at_s = 0;
  int tries = 1;
  for (; patience.TryAgain(kTransfer, Silence(1000), Moment(at_s)); ++tries) at_s += 20;
  EXPECT_EQ(tries, kBrokenOffTriesMax + 3);
}

TEST(TransferPatienceTest, OneThatArrivedWasNeverInTrouble) {
  TransferPatience patience;
  EXPECT_TRUE(patience.TryAgain(kTransfer, Silence(), Moment(0)));
  patience.Arrived(kTransfer);
  EXPECT_TRUE(patience.TryAgain(kTransfer, Silence(), Moment(50))) << "made again for an edit";
}

TEST(TransferPatienceTest, ARefusedOneIsTriedAgainForALease) {
  TransferPatience patience;
  const TransferPatience::Failure refused{.code = job_error::kTransferFailed};
  EXPECT_TRUE(patience.TryAgain(kTransfer, refused, Moment(0)));
  EXPECT_TRUE(patience.TryAgain(kTransfer, refused, Moment(7.9)));
  EXPECT_TRUE(patience.TryAgain(kTransfer, Silence(), Moment(8))) << "there is more for silence";
  EXPECT_FALSE(patience.TryAgain(kTransfer, refused, Moment(8)));
}

TEST(TransferPatienceTest, ADamagedOneIsMadeSoOften) {
  TransferPatience patience;
  TransferPatience::Failure damaged{.code = job_error::kDataLoss};
  for (; damaged.attempt < limits::kDamagedTriesMax; ++damaged.attempt) {
    EXPECT_TRUE(patience.TryAgain(kTransfer, damaged, Moment(100 * damaged.attempt)));
  }
  EXPECT_FALSE(patience.TryAgain(kTransfer, damaged, Moment(2000)));
}

TEST(TransferPatienceTest, TimeInWhichTheMasterStoodStillDoesNotCount) {
  TransferPatience patience;
  EXPECT_TRUE(patience.TryAgain(kTransfer, Silence(), Moment(100)));
  EXPECT_TRUE(patience.TryAgain(4, Silence(), Moment(125)));
  patience.StoodStill(absl::Seconds(20), Moment(130));
  EXPECT_TRUE(patience.TryAgain(kTransfer, Silence(), Moment(164.9))) << "as if since 120";
  EXPECT_FALSE(patience.TryAgain(kTransfer, Silence(), Moment(165)));
  EXPECT_TRUE(patience.TryAgain(4, Silence(), Moment(174.9))) << "since 130: not of the future";
  EXPECT_FALSE(patience.TryAgain(4, Silence(), Moment(175)));
}

TEST(TransferPatienceTest, OtherErrorsAreFinal) {
  TransferPatience patience;
  for (const std::string_view code : {job_error::kDiskFull, job_error::kInternal}) {
    EXPECT_FALSE(patience.TryAgain(kTransfer, {.code = code, .moved = 10}, Moment(0)));
  }
}

}  // namespace
}  // namespace weir::master
