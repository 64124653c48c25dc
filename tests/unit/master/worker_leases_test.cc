#include "runtime/master/workers/worker_leases.h"

#include "gtest/gtest.h"
#include "runtime/base/limits.h"
#include "tests/unit/base/moment.h"

namespace weir::master {
namespace {

// Longer than any silence of the tests that are about leases alone.
constexpr absl::Duration kOverdue = absl::Hours(1);
constexpr absl::Duration kLease = absl::Seconds(6);

TEST(WorkerLeasesTest, LeaseRunsFromTheLastHeartbeat) {
  WorkerLeases leases(kOverdue, 1);
  const Epoch epoch = *leases.Register(7, kLease, Moment(0));
  EXPECT_TRUE(leases.Renew(7, epoch, Moment(4)).ok());
  EXPECT_EQ(leases.NextWake(), Moment(10));
  EXPECT_TRUE(leases.TakeExpired(Moment(9.9)).empty());
  EXPECT_EQ(leases.TakeExpired(Moment(10)), std::vector<WorkerId>{7});
}

TEST(WorkerLeasesTest, ExpiredWorkerIsReportedOnceAndFenced) {
  WorkerLeases leases(kOverdue, 1);
  const Epoch epoch = *leases.Register(7, kLease, Moment(0));
  EXPECT_EQ(leases.TakeExpired(Moment(6)).size(), 1u);
  EXPECT_TRUE(leases.TakeExpired(Moment(60)).empty());
  EXPECT_EQ(leases.Renew(7, epoch, Moment(6)).code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(leases.NextWake().has_value());
}

TEST(WorkerLeasesTest, EachHasALengthOfItsOwn) {
  WorkerLeases leases(kOverdue, 1);
  ASSERT_TRUE(leases.Register(7, 2 * kLease, Moment(0)).ok());
  ASSERT_TRUE(leases.Register(9, kLease, Moment(1)).ok());
  EXPECT_EQ(leases.NextWake(), Moment(7));
  EXPECT_EQ(leases.TakeExpired(Moment(7)), std::vector<WorkerId>{9});
  EXPECT_EQ(leases.NextWake(), Moment(12));
}

TEST(WorkerLeasesTest, SecondRegistrationFencesTheFirst) {
  WorkerLeases leases(kOverdue, 100);
  const Epoch first = *leases.Register(7, kLease, Moment(0));
  const Epoch second = *leases.Register(7, kLease, Moment(1));
  EXPECT_EQ(first, 100);
  EXPECT_GT(second, first);
  EXPECT_EQ(leases.Renew(7, first, Moment(2)).code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(leases.Check(7, second).ok());
}

TEST(WorkerLeasesTest, LateHeartbeatNeverShortensALease) {
  WorkerLeases leases(kOverdue, 1);
  const Epoch epoch = *leases.Register(7, kLease, Moment(5));
  EXPECT_TRUE(leases.Renew(7, epoch, Moment(3)).ok());
  EXPECT_EQ(leases.NextWake(), Moment(11));
}

TEST(WorkerLeasesTest, ExpiredComeInIdOrder) {
  WorkerLeases leases(kOverdue, 1);
  for (const WorkerId id : {9, 3, 5}) ASSERT_TRUE(leases.Register(id, kLease, Moment(0)).ok());
  EXPECT_EQ(leases.TakeExpired(Moment(6)), (std::vector<WorkerId>{3, 5, 9}));
}

TEST(WorkerLeasesTest, TimeInWhichTheMasterStoodStillIsNobodysSilence) {
  WorkerLeases leases(absl::Seconds(1), 1);
  const Epoch epoch = *leases.Register(7, kLease, Moment(0));
  ASSERT_TRUE(leases.Register(9, kLease, Moment(2)).ok());
  // What was due at 3 is looked at at 11.
  leases.StoodStill(absl::Seconds(8), Moment(11));
  EXPECT_TRUE(leases.TakeSilent(Moment(8.9)).empty()) << "as if heard at 8, and at 10";
  EXPECT_TRUE(leases.TakeExpired(Moment(11)).empty());
  ASSERT_TRUE(leases.Renew(7, epoch, Moment(11.1)).ok());
  EXPECT_EQ(leases.TakeExpired(Moment(16)), std::vector<WorkerId>{9}) << "as long as ever from 10";
  EXPECT_EQ(leases.TakeExpired(Moment(17.1)), std::vector<WorkerId>{7});
}

TEST(WorkerLeasesTest, AHeartbeatBeforeTheLookIsNotOfTheFuture) {
  WorkerLeases leases(absl::Seconds(1), 1);
  const Epoch epoch = *leases.Register(7, kLease, Moment(0));
  ASSERT_TRUE(leases.Renew(7, epoch, Moment(9)).ok());
  leases.StoodStill(absl::Seconds(8), Moment(9));
  EXPECT_EQ(leases.TakeExpired(Moment(15)), std::vector<WorkerId>{7});
}

TEST(WorkerLeasesTest, SilentWorkersAreAskedAfterAgainAndAgain) {
  WorkerLeases leases(absl::Seconds(1), 1);
  const Epoch chatty = *leases.Register(3, kLease, Moment(0));
  const Epoch silent = *leases.Register(7, kLease, Moment(0));
  EXPECT_TRUE(leases.TakeSilent(Moment(0.9)).empty());
  ASSERT_TRUE(leases.Renew(3, chatty, Moment(0.9)).ok());
  EXPECT_EQ(leases.NextWake(), Moment(1));
  for (const double when : {1.0, 2.0, 3.0}) {
    ASSERT_TRUE(leases.Renew(3, chatty, Moment(when)).ok());
    const std::vector<SilentWorker> asked = leases.TakeSilent(Moment(when));
    ASSERT_EQ(asked.size(), 1u) << when;
    EXPECT_EQ(asked[0].worker, 7);
    EXPECT_EQ(asked[0].epoch, silent);
    EXPECT_TRUE(leases.TakeSilent(Moment(when + 0.5)).empty());
  }
  EXPECT_EQ(leases.TakeExpired(Moment(6)), std::vector<WorkerId>{7}) << "asking renews nothing";
}

TEST(WorkerLeasesTest, GoneWorkerLosesItsLeaseOnceAndIsFenced) {
  WorkerLeases leases(absl::Seconds(1), 1);
  const Epoch epoch = *leases.Register(7, kLease, Moment(0));
  const std::vector<SilentWorker> asked = leases.TakeSilent(Moment(1));
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_TRUE(leases.EndLease(asked[0]));
  EXPECT_FALSE(leases.EndLease(asked[0]));
  EXPECT_TRUE(absl::IsNotFound(leases.Renew(7, epoch, Moment(1.1))));
  EXPECT_FALSE(leases.NextWake().has_value());
}

TEST(WorkerLeasesTest, WordOfAWorkerGoesBeforeWordOfItsEnd) {
  WorkerLeases leases(absl::Seconds(1), 1);
  const Epoch epoch = *leases.Register(7, kLease, Moment(0));
  const std::vector<SilentWorker> asked = leases.TakeSilent(Moment(1));
  ASSERT_EQ(asked.size(), 1u);
  ASSERT_TRUE(leases.Renew(7, epoch, Moment(1.2)).ok());
  EXPECT_FALSE(leases.EndLease(asked[0])) << "a heartbeat came meanwhile";
  const std::vector<SilentWorker> later = leases.TakeSilent(Moment(2.2));
  ASSERT_EQ(later.size(), 1u);
  ASSERT_TRUE(leases.Register(7, kLease, Moment(2.3)).ok());
  EXPECT_FALSE(leases.EndLease(later[0])) << "it registered anew meanwhile";
}

TEST(WorkerLeasesTest, FullTableRefusesStrangersOnly) {
  WorkerLeases leases(kOverdue, 1);
  for (WorkerId id = 0; id < limits::kWorkersMax; ++id) {
    ASSERT_TRUE(leases.Register(id, kLease, Moment(0)).ok());
  }
  EXPECT_EQ(leases.Register(limits::kWorkersMax, kLease, Moment(1)).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(leases.Register(0, kLease, Moment(1)).ok());
}

}  // namespace
}  // namespace weir::master
