#include "runtime/master/workers/worker_table.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/unit/base/moment.h"
#include "tests/unit/master/no_connections.h"

namespace weir::master {
namespace {

class WorkerTableTest : public ::testing::Test {
 protected:
  static MonoTime Moment(int seconds) {
    return MonoTime::FromNanos(std::int64_t{seconds} * 1'000'000'000);
  }
  absl::StatusOr<WorkerTable::Registration> Try(const std::string& name, MonoTime now,
                                                const std::string& endpoint,
                                                const std::string& incarnation) {
    v1::RegisterRequest request;
    request.mutable_identity()->set_name(name);
    request.mutable_identity()->set_control_endpoint(endpoint);
    request.mutable_identity()->set_incarnation(incarnation);
    return table_.Register(request, now, 1'700'000'000'000);
  }
  WorkerTable::Registration Register(const std::string& name, MonoTime now) {
    auto registration = Try(name, now, "host-" + name + ":1", "first");
    EXPECT_TRUE(registration.ok()) << registration.status();
    return *registration;
  }
  NoConnections connections_;
  WorkerTable table_{connections_, 1000};
};

TEST_F(WorkerTableTest, NameKeepsItsIdAndEachRegistrationHasAnEpoch) {
  const auto first = Register("a", Moment(0));
  const auto other = Register("b", Moment(0));
  const auto again = Register("a", Moment(1));
  EXPECT_EQ(first.replaced_epoch, 0);
  EXPECT_EQ(again.replaced_epoch, first.worker.epoch);
  EXPECT_EQ(again.worker.id, first.worker.id);
  EXPECT_NE(again.worker.epoch, first.worker.epoch);
  EXPECT_NE(other.worker.id, first.worker.id);
  EXPECT_TRUE(absl::IsAborted(table_.CheckLease(first.worker.id, first.worker.epoch)));
}

TEST_F(WorkerTableTest, LostWorkersAreReportedOnceAndMayComeBack) {
  const auto a = Register("a", Moment(0));
  Register("b", Moment(3));
  EXPECT_EQ(table_.Alive().size(), 2u);
  const auto lost = table_.TakeLost(Moment(6));
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].epoch, a.worker.epoch);
  EXPECT_TRUE(table_.TakeLost(Moment(6)).empty());
  EXPECT_EQ(table_.Alive().size(), 1u);
  EXPECT_EQ(table_.List(Moment(7)).workers(0).state(), v1::WORKER_STATE_LOST);
  EXPECT_EQ(Register("a", Moment(8)).replaced_epoch, 0);
  EXPECT_EQ(table_.Alive().size(), 2u);
}

TEST_F(WorkerTableTest, ADaemonThatLostTouchThoughItLivesGetsALongerLease) {
  const auto lease_s = [&](int at_s, const std::string& incarnation) {
    const auto registered = Try("a", Moment(at_s), "host-a:1", incarnation);
    EXPECT_TRUE(registered.ok()) << registered.status();
    return absl::ToInt64Seconds(registered->worker.lease);
  };
  EXPECT_EQ(lease_s(0, "first"), 6);
  EXPECT_EQ(lease_s(1, "first"), 6) << "the answer was lost";
  EXPECT_EQ(table_.TakeLost(Moment(7)).size(), 1u);
  EXPECT_EQ(lease_s(8, "first"), 12);
  EXPECT_TRUE(table_.TakeLost(Moment(19)).empty());
  EXPECT_EQ(table_.TakeLost(Moment(20)).size(), 1u);
  EXPECT_EQ(lease_s(20, "first"), 24);
  EXPECT_EQ(lease_s(50, "first"), 30) << "and no longer";
  EXPECT_EQ(lease_s(90, "first"), 30);
  EXPECT_EQ(lease_s(90 + 600, "first"), 12) << "long ago";
  EXPECT_EQ(lease_s(800, "second"), 6) << "another process";
}

TEST_F(WorkerTableTest, ADrainingWorkerKeepsItsLeaseAndIsNotPlannedFor) {
  const auto a = Register("a", Moment(0));
  Register("b", Moment(0));
  EXPECT_TRUE(table_.BeginDrain(a.worker.id));
  EXPECT_FALSE(table_.BeginDrain(a.worker.id)) << "once";
  ASSERT_EQ(table_.Alive().size(), 1u);
  EXPECT_EQ(table_.Alive()[0].identity.name(), "b");
  EXPECT_TRUE(table_.CheckLease(a.worker.id, a.worker.epoch).ok());
  EXPECT_EQ(table_.List(Moment(1)).workers(0).state(), v1::WORKER_STATE_DRAINING);
  EXPECT_EQ(table_.TakeLost(Moment(7)).size(), 2u) << "it may still be lost";
  EXPECT_FALSE(table_.BeginDrain(a.worker.id));
  Register("a", Moment(8));
  EXPECT_EQ(table_.Alive().size(), 1u) << "who registers serves";
}

TEST_F(WorkerTableTest, GoneWorkersAreLostOnceAndMayComeBack) {
  const auto a = Register("a", Moment(0));
  Register("b", Moment(1));
  const auto silent = table_.TakeSilent(Moment(1));
  ASSERT_EQ(silent.size(), 1u);
  EXPECT_EQ(silent[0].second, "host-a:1");
  const auto lost = table_.TakeGone(silent[0].first);
  ASSERT_TRUE(lost.has_value());
  EXPECT_EQ(lost->epoch, a.worker.epoch);
  EXPECT_FALSE(table_.TakeGone(silent[0].first).has_value());
  EXPECT_EQ(table_.List(Moment(1)).workers(0).state(), v1::WORKER_STATE_LOST);
  EXPECT_EQ(table_.Alive().size(), 1u);
  EXPECT_EQ(Register("a", Moment(2)).replaced_epoch, 0);
  EXPECT_EQ(table_.Alive().size(), 2u);
}

TEST_F(WorkerTableTest, ANameIsHeldByOneDaemonAtATime) {
  const auto holder = Register("a", Moment(0));
  const auto refused = Try("a", Moment(1), "elsewhere:2", "second");
  ASSERT_TRUE(absl::IsAlreadyExists(refused.status())) << refused.status();
  EXPECT_TRUE(absl::StrContains(refused.status().message(),
                                "a is alive at host-a:1 since 2023-11-14T22:13:20Z"))
      << refused.status();
  EXPECT_TRUE(table_.CheckLease(holder.worker.id, holder.worker.epoch).ok()) << "untouched";
  EXPECT_TRUE(Try("a", Moment(1), "host-a:9", "first").ok()) << "the same daemon, after lost touch";
  EXPECT_TRUE(Try("a", Moment(2), "host-a:9", "third").ok()) << "stands where the first one stood";
  ASSERT_FALSE(Try("a", Moment(3), "elsewhere:2", "second").ok());
  const auto [asked, endpoint] = table_.TakeHolder("a", Moment(3));
  EXPECT_EQ(endpoint, "host-a:9");
  ASSERT_TRUE(table_.TakeGone(asked).has_value());
  EXPECT_TRUE(Try("a", Moment(4), "elsewhere:2", "second").ok()) << "the first one is gone";
}

TEST_F(WorkerTableTest, HeartbeatRenewsAndUpdatesFreeDisk) {
  const auto a = Register("a", Moment(0));
  v1::HeartbeatRequest heartbeat;
  heartbeat.set_worker_id(a.worker.id);
  heartbeat.set_worker_epoch(a.worker.epoch);
  heartbeat.set_free_disk_bytes(123);
  EXPECT_TRUE(table_.Heartbeat(heartbeat, Moment(5)).ok());
  EXPECT_TRUE(table_.TakeLost(Moment(10)).empty());
  EXPECT_EQ(table_.Alive()[0].profile.free_disk_bytes(), 123);
  heartbeat.set_worker_id(99);
  EXPECT_TRUE(absl::IsNotFound(table_.Heartbeat(heartbeat, Moment(6))));
}

TEST_F(WorkerTableTest, WorkersThatLeaveAreNotLost) {
  const auto a = Register("a", Moment(0));
  v1::HeartbeatRequest request;
  request.set_worker_id(a.worker.id);
  request.set_worker_epoch(a.worker.epoch);
  request.set_leaving("it was stopped");
  const auto left = table_.Leave(request, Moment(1));
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_EQ(left->epoch, a.worker.epoch);
  EXPECT_TRUE(table_.Alive().empty());
  EXPECT_TRUE(table_.TakeLost(Moment(100)).empty());
  EXPECT_EQ(table_.List(Moment(100)).workers(0).state(), v1::WORKER_STATE_LEFT);
  EXPECT_EQ(table_.List(Moment(100)).workers(0).left_because(), "it was stopped");
  EXPECT_TRUE(absl::IsNotFound(table_.Leave(request, Moment(101)).status())) << "twice";
  EXPECT_EQ(Register("a", Moment(102)).replaced_epoch, 0);
  EXPECT_EQ(table_.List(Moment(102)).workers(0).state(), v1::WORKER_STATE_ALIVE);
}

TEST_F(WorkerTableTest, AliveWorkersAreVisitedInIdOrderAndInPlace) {
  EXPECT_FALSE(table_.AnyAlive());
  for (const char* name : {"a", "b", "c"}) {
    v1::RegisterRequest request;
    request.mutable_identity()->set_name(name);
    request.mutable_identity()->set_control_endpoint(name);
    request.add_held()->set_job_id("j-1");
    ASSERT_TRUE(table_.Register(request, Moment(0), 1'700'000'000'000).ok());
  }
  EXPECT_TRUE(table_.AnyAlive());
  table_.BeginDrain(2);
  std::string names;
  table_.ForEachAlive([&names](const RegisteredWorker& worker) {
    names += worker.identity.name();
    EXPECT_EQ(worker.held.use_count(), 1) << "that of the table, and of no copy";
  });
  EXPECT_EQ(names, "ac");
  EXPECT_EQ(table_.Alive().size(), 2u);
  table_.BeginDrain(1);
  table_.BeginDrain(3);
  EXPECT_FALSE(table_.AnyAlive()) << "no job is planned for those that drain";
}

}  // namespace
}  // namespace weir::master
