#include "runtime/master/workers/worker_leases.h"

#include "gtest/gtest.h"
#include "runtime/base/limits.h"

namespace weir::master {
namespace {

MonoTime At(double seconds) {
  return MonoTime::FromNanos(static_cast<std::int64_t>(seconds * 1e9));
}

// Longer than any silence of the tests that are about leases alone.
constexpr absl::Duration kOverdue = absl::Hours(1);

TEST(WorkerLeasesTest, LeaseRunsFromTheLastHeartbeat) {
  WorkerLeases leases(absl::Seconds(6), kOverdue, 1);
  const Epoch epoch = *leases.Register(7, At(0));
  EXPECT_TRUE(leases.Renew(7, epoch, At(4)).ok());
  EXPECT_EQ(leases.NextWake(), At(10));
  EXPECT_TRUE(leases.TakeExpired(At(9.9)).empty());
  EXPECT_EQ(leases.TakeExpired(At(10)), std::vector<WorkerId>{7});
}

TEST(WorkerLeasesTest, ExpiredWorkerIsReportedOnceAndFenced) {
  WorkerLeases leases(absl::Seconds(6), kOverdue, 1);
  const Epoch epoch = *leases.Register(7, At(0));
  EXPECT_EQ(leases.TakeExpired(At(6)).size(), 1u);
  EXPECT_TRUE(leases.TakeExpired(At(60)).empty());
  EXPECT_EQ(leases.Renew(7, epoch, At(6)).code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(leases.NextWake().has_value());
}

TEST(WorkerLeasesTest, SecondRegistrationFencesTheFirst) {
  WorkerLeases leases(absl::Seconds(6), kOverdue, 100);
  const Epoch first = *leases.Register(7, At(0));
  const Epoch second = *leases.Register(7, At(1));
  EXPECT_EQ(first, 100);
  EXPECT_GT(second, first);
  EXPECT_EQ(leases.Renew(7, first, At(2)).code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(leases.Check(7, second).ok());
}

TEST(WorkerLeasesTest, LateHeartbeatNeverShortensALease) {
  WorkerLeases leases(absl::Seconds(6), kOverdue, 1);
  const Epoch epoch = *leases.Register(7, At(5));
  EXPECT_TRUE(leases.Renew(7, epoch, At(3)).ok());
  EXPECT_EQ(leases.NextWake(), At(11));
}

TEST(WorkerLeasesTest, ExpiredComeInIdOrder) {
  WorkerLeases leases(absl::Seconds(6), kOverdue, 1);
  for (const WorkerId id : {9, 3, 5}) ASSERT_TRUE(leases.Register(id, At(0)).ok());
  EXPECT_EQ(leases.TakeExpired(At(6)), (std::vector<WorkerId>{3, 5, 9}));
}

TEST(WorkerLeasesTest, SilentWorkersAreAskedAfterAgainAndAgain) {
  WorkerLeases leases(absl::Seconds(6), absl::Seconds(1), 1);
  const Epoch chatty = *leases.Register(3, At(0));
  const Epoch silent = *leases.Register(7, At(0));
  EXPECT_TRUE(leases.TakeSilent(At(0.9)).empty());
  ASSERT_TRUE(leases.Renew(3, chatty, At(0.9)).ok());
  EXPECT_EQ(leases.NextWake(), At(1));
  for (const double when : {1.0, 2.0, 3.0}) {
    ASSERT_TRUE(leases.Renew(3, chatty, At(when)).ok());
    const std::vector<SilentWorker> asked = leases.TakeSilent(At(when));
    ASSERT_EQ(asked.size(), 1u) << when;
    EXPECT_EQ(asked[0].worker, 7);
    EXPECT_EQ(asked[0].epoch, silent);
    EXPECT_TRUE(leases.TakeSilent(At(when + 0.5)).empty());
  }
  EXPECT_EQ(leases.TakeExpired(At(6)), std::vector<WorkerId>{7}) << "asking renews nothing";
}

TEST(WorkerLeasesTest, GoneWorkerLosesItsLeaseOnceAndIsFenced) {
  WorkerLeases leases(absl::Seconds(6), absl::Seconds(1), 1);
  const Epoch epoch = *leases.Register(7, At(0));
  const std::vector<SilentWorker> asked = leases.TakeSilent(At(1));
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_TRUE(leases.EndLease(asked[0]));
  EXPECT_FALSE(leases.EndLease(asked[0]));
  EXPECT_TRUE(absl::IsNotFound(leases.Renew(7, epoch, At(1.1))));
  EXPECT_FALSE(leases.NextWake().has_value());
}

TEST(WorkerLeasesTest, WordOfAWorkerGoesBeforeWordOfItsEnd) {
  WorkerLeases leases(absl::Seconds(6), absl::Seconds(1), 1);
  const Epoch epoch = *leases.Register(7, At(0));
  const std::vector<SilentWorker> asked = leases.TakeSilent(At(1));
  ASSERT_EQ(asked.size(), 1u);
  ASSERT_TRUE(leases.Renew(7, epoch, At(1.2)).ok());
  EXPECT_FALSE(leases.EndLease(asked[0])) << "a heartbeat came meanwhile";
  const std::vector<SilentWorker> later = leases.TakeSilent(At(2.2));
  ASSERT_EQ(later.size(), 1u);
  ASSERT_TRUE(leases.Register(7, At(2.3)).ok());
  EXPECT_FALSE(leases.EndLease(later[0])) << "it registered anew meanwhile";
}

TEST(WorkerLeasesTest, FullTableRefusesStrangersOnly) {
  WorkerLeases leases(absl::Seconds(6), kOverdue, 1);
  for (WorkerId id = 0; id < limits::kWorkersMax; ++id) {
    ASSERT_TRUE(leases.Register(id, At(0)).ok());
  }
  EXPECT_EQ(leases.Register(limits::kWorkersMax, At(1)).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(leases.Register(0, At(1)).ok());
}

}  // namespace
}  // namespace weir::master
