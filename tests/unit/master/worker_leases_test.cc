#include "runtime/master/worker_leases.h"

#include "gtest/gtest.h"
#include "runtime/base/limits.h"

namespace weir::master {
namespace {

MonoTime At(double seconds) {
  return MonoTime::FromNanos(static_cast<std::int64_t>(seconds * 1e9));
}

TEST(WorkerLeasesTest, LeaseRunsFromTheLastHeartbeat) {
  WorkerLeases leases(absl::Seconds(6), 1);
  const Epoch epoch = *leases.Register(7, At(0));
  EXPECT_TRUE(leases.Renew(7, epoch, At(4)).ok());
  EXPECT_EQ(leases.NextExpiry(), At(10));
  EXPECT_TRUE(leases.TakeExpired(At(9.9)).empty());
  EXPECT_EQ(leases.TakeExpired(At(10)), std::vector<WorkerId>{7});
}

TEST(WorkerLeasesTest, ExpiredWorkerIsReportedOnceAndFenced) {
  WorkerLeases leases(absl::Seconds(6), 1);
  const Epoch epoch = *leases.Register(7, At(0));
  EXPECT_EQ(leases.TakeExpired(At(6)).size(), 1u);
  EXPECT_TRUE(leases.TakeExpired(At(60)).empty());
  EXPECT_EQ(leases.Renew(7, epoch, At(6)).code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(leases.NextExpiry().has_value());
}

TEST(WorkerLeasesTest, SecondRegistrationFencesTheFirst) {
  WorkerLeases leases(absl::Seconds(6), 100);
  const Epoch first = *leases.Register(7, At(0));
  const Epoch second = *leases.Register(7, At(1));
  EXPECT_EQ(first, 100);
  EXPECT_GT(second, first);
  EXPECT_EQ(leases.Renew(7, first, At(2)).code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(leases.Check(7, second).ok());
}

TEST(WorkerLeasesTest, LateHeartbeatNeverShortensALease) {
  WorkerLeases leases(absl::Seconds(6), 1);
  const Epoch epoch = *leases.Register(7, At(5));
  EXPECT_TRUE(leases.Renew(7, epoch, At(3)).ok());
  EXPECT_EQ(leases.NextExpiry(), At(11));
}

TEST(WorkerLeasesTest, ExpiredComeInIdOrder) {
  WorkerLeases leases(absl::Seconds(6), 1);
  for (const WorkerId id : {9, 3, 5}) ASSERT_TRUE(leases.Register(id, At(0)).ok());
  EXPECT_EQ(leases.TakeExpired(At(6)), (std::vector<WorkerId>{3, 5, 9}));
}

TEST(WorkerLeasesTest, FullTableRefusesStrangersOnly) {
  WorkerLeases leases(absl::Seconds(6), 1);
  for (WorkerId id = 0; id < limits::kWorkersMax; ++id) {
    ASSERT_TRUE(leases.Register(id, At(0)).ok());
  }
  EXPECT_EQ(leases.Register(limits::kWorkersMax, At(1)).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(leases.Register(0, At(1)).ok());
}

}  // namespace
}  // namespace weir::master
