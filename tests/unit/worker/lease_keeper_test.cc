#include "runtime/worker/lease_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <tuple>

#include "tests/unit/base/moment.h"
#include "tests/unit/worker/manual_loop.h"

namespace weir::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

v1::RegisterResponse Grant(std::int64_t epoch) {
  v1::RegisterResponse response;
  response.set_worker_id(4);
  response.set_worker_epoch(epoch);
  response.set_master_epoch(2);
  response.set_lease_ms(6000);
  response.set_heartbeat_ms(500);
  return response;
}

class LeaseKeeperTest : public testing::Test {
 protected:
  // Sent at `sent`, answered at `answered`.
  void Register(double sent, double answered) {
    EXPECT_THAT(keeper_.Advance(Moment(sent)), ElementsAre(LeaseAction::kRegister));
    EXPECT_TRUE(keeper_.OnRegisterAnswer(Grant(11), Moment(answered)).ok());
  }

  FixedRandom random_;
  LeaseKeeper keeper_{random_};
};

TEST_F(LeaseKeeperTest, RegistersAtOnceAndThenBeats) {
  Register(1, 1.1);
  ASSERT_TRUE(keeper_.registration());
  EXPECT_EQ(keeper_.registration()->worker_epoch, 11);
  EXPECT_EQ(keeper_.NextWake(), Moment(1.1) + absl::Milliseconds(500));
  EXPECT_THAT(keeper_.Advance(Moment(1.5)), IsEmpty());
  EXPECT_THAT(keeper_.Advance(Moment(1.6)), ElementsAre(LeaseAction::kHeartbeat));
  EXPECT_THAT(keeper_.Advance(Moment(1.7)), IsEmpty()) << "one call at a time";
}

TEST_F(LeaseKeeperTest, TriesToRegisterForEverWithGrowingPauses) {
  double now = 1;
  absl::Duration last;
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(keeper_.Advance(Moment(now)), ElementsAre(LeaseAction::kRegister));
    EXPECT_FALSE(keeper_.NextWake()) << "only the answer can change anything";
    EXPECT_FALSE(keeper_.OnRegisterAnswer(absl::UnavailableError("no master"), Moment(now)).ok());
    const absl::Duration pause = *keeper_.NextWake() - Moment(now);
    EXPECT_GE(pause, last);
    EXPECT_LE(pause, absl::Seconds(2));
    last = pause;
    EXPECT_THAT(keeper_.Advance(*keeper_.NextWake() + absl::Nanoseconds(-1)), IsEmpty());
    now += absl::ToDoubleSeconds(pause) + 1e-6;
  }
  EXPECT_GE(last, absl::Seconds(1));
}

TEST_F(LeaseKeeperTest, GivesUpOnceNoMasterHasAnsweredForTheGrace) {
  LeaseKeeper keeper(random_, absl::Seconds(60));
  MonoTime now = Moment(1);
  int tries = 0;
  while (true) {
    const std::vector<LeaseAction> actions = keeper.Advance(now);
    if (actions == std::vector{LeaseAction::kGiveUp}) break;
    ASSERT_THAT(actions, ElementsAre(LeaseAction::kRegister));
    ++tries;
    EXPECT_FALSE(keeper.OnRegisterAnswer(absl::UnavailableError("no master"), now).ok());
    ASSERT_TRUE(keeper.NextWake());
    now = *keeper.NextWake();
  }
  EXPECT_GE(now - Moment(1), absl::Seconds(60));
  EXPECT_LE(now - Moment(1), absl::Seconds(62));
  EXPECT_LE(tries, 70) << "it does not hammer";
  EXPECT_FALSE(keeper.NextWake());
  EXPECT_THAT(keeper.Advance(now + absl::Hours(1)), IsEmpty());
}

TEST_F(LeaseKeeperTest, AMasterThatRefusesIsThereAndEachAbsenceCountsAnew) {
  LeaseKeeper keeper(random_, absl::Seconds(60));
  EXPECT_THAT(keeper.Advance(Moment(1)), ElementsAre(LeaseAction::kRegister));
  // The name is taken, for an hour.
  for (double now = 1; now < 3600; now += 50) {
    EXPECT_FALSE(keeper.OnRegisterAnswer(absl::AlreadyExistsError("taken"), Moment(now)).ok());
    EXPECT_THAT(keeper.Advance(Moment(now + 50)), ElementsAre(LeaseAction::kRegister));
  }
  ASSERT_TRUE(keeper.OnRegisterAnswer(Grant(3), Moment(4000)).ok());
  // Stopped for an hour: the master may well be there.
  EXPECT_THAT(keeper.Advance(Moment(7600)),
              ElementsAre(LeaseAction::kDropJobs, LeaseAction::kRegister));
  EXPECT_FALSE(keeper.OnRegisterAnswer(absl::UnavailableError("away"), Moment(7600)).ok());
  EXPECT_THAT(keeper.Advance(Moment(7659)), ElementsAre(LeaseAction::kRegister));
  EXPECT_FALSE(keeper.OnRegisterAnswer(absl::UnavailableError("away"), Moment(7659)).ok());
  EXPECT_THAT(keeper.Advance(Moment(7662)), ElementsAre(LeaseAction::kGiveUp));
}

TEST_F(LeaseKeeperTest, LeaseCountsFromTheSendingOfTheLastHeartbeatThatWasTaken) {
  Register(1, 1.1);
  EXPECT_THAT(keeper_.Advance(Moment(2)), ElementsAre(LeaseAction::kHeartbeat));
  keeper_.OnHeartbeatAnswer(absl::OkStatus(), Moment(3));
  EXPECT_THAT(keeper_.Advance(Moment(3)), ElementsAre(LeaseAction::kHeartbeat));
  keeper_.OnHeartbeatAnswer(absl::UnavailableError("gone"), Moment(3.5));
  EXPECT_THAT(keeper_.Advance(Moment(7.9)), ElementsAre(LeaseAction::kHeartbeat));
  EXPECT_EQ(keeper_.NextWake(), Moment(8));
  EXPECT_THAT(keeper_.Advance(Moment(8)), ElementsAre(LeaseAction::kDropJobs));
  EXPECT_FALSE(keeper_.registration());
}

TEST_F(LeaseKeeperTest, RegistersAgainOnlyAfterTheLastHeartbeatWasAnswered) {
  Register(1, 1.1);
  EXPECT_THAT(keeper_.Advance(Moment(2)), ElementsAre(LeaseAction::kHeartbeat));
  EXPECT_THAT(keeper_.Advance(Moment(7.5)), ElementsAre(LeaseAction::kDropJobs));
  EXPECT_THAT(keeper_.Advance(Moment(8)), IsEmpty());
  keeper_.OnHeartbeatAnswer(absl::OkStatus(), Moment(9));
  EXPECT_FALSE(keeper_.registration()) << "a late yes does not bring a lost lease back";
  EXPECT_THAT(keeper_.Advance(Moment(9)), ElementsAre(LeaseAction::kRegister));
}

TEST_F(LeaseKeeperTest, AStoppedProcessDropsItsJobsBeforeItSaysAnotherWord) {
  Register(1, 1.1);
  EXPECT_THAT(keeper_.Advance(Moment(61)),
              ElementsAre(LeaseAction::kDropJobs, LeaseAction::kRegister));
}

TEST_F(LeaseKeeperTest, APauseOfThreeSecondsCostsNothing) {
  Register(1, 1.1);
  EXPECT_THAT(keeper_.Advance(Moment(2)), ElementsAre(LeaseAction::kHeartbeat));
  keeper_.OnHeartbeatAnswer(absl::OkStatus(), Moment(2));
  EXPECT_THAT(keeper_.Advance(Moment(5)), ElementsAre(LeaseAction::kHeartbeat));
}

TEST_F(LeaseKeeperTest, RefusalsEndTheRegistrationAtOnce) {
  for (const absl::Status& refusal :
       {absl::NotFoundError("who?"), absl::AbortedError("old epoch")}) {
    LeaseKeeper keeper(random_);
    EXPECT_THAT(keeper.Advance(Moment(1)), ElementsAre(LeaseAction::kRegister));
    ASSERT_TRUE(keeper.OnRegisterAnswer(Grant(3), Moment(1)).ok());
    EXPECT_THAT(keeper.Advance(Moment(1.5)), ElementsAre(LeaseAction::kHeartbeat));
    keeper.OnHeartbeatAnswer(refusal, Moment(1.6));
    EXPECT_THAT(keeper.Advance(Moment(1.6)),
                ElementsAre(LeaseAction::kDropJobs, LeaseAction::kRegister));
  }
}

TEST_F(LeaseKeeperTest, AnswersThatMakeNoSenseAreFailures) {
  for (auto [epoch, lease_ms, heartbeat_ms] :
       {std::tuple(0, 6000, 500), std::tuple(1, 500, 500), std::tuple(1, 6000, 0)}) {
    LeaseKeeper keeper(random_);
    EXPECT_THAT(keeper.Advance(Moment(1)), ElementsAre(LeaseAction::kRegister));
    v1::RegisterResponse response = Grant(epoch);
    response.set_lease_ms(lease_ms);
    response.set_heartbeat_ms(heartbeat_ms);
    EXPECT_FALSE(keeper.OnRegisterAnswer(response, Moment(1)).ok());
    EXPECT_FALSE(keeper.registration());
    EXPECT_TRUE(keeper.NextWake());
  }
}

// Whatever the master answers and whenever turns come: no heartbeat without a lease, jobs are
// dropped exactly when a registration ends, and at most one call is out.
RC_GTEST_PROP(LeaseKeeperProperty, NeverActsWithoutALease, ()) {
  FixedRandom random;
  LeaseKeeper keeper(random);
  MonoTime now = Moment(1);
  MonoTime lease_end;
  MonoTime sent;
  bool held = false;
  enum class Call { kNone, kRegister, kHeartbeat } out = Call::kNone;
  const int turns = *rc::gen::inRange(1, 200);
  for (int turn = 0; turn < turns; ++turn) {
    now = now + absl::Milliseconds(*rc::gen::inRange(0, 3000));
    const int what = *rc::gen::inRange(0, 4);
    if (out == Call::kRegister && what > 0) {
      out = Call::kNone;
      if (what == 1) {
        RC_ASSERT(keeper.OnRegisterAnswer(Grant(turn + 1), now).ok());
        held = true;
        lease_end = sent + absl::Seconds(6);
      } else {
        RC_ASSERT(!keeper.OnRegisterAnswer(absl::UnavailableError(""), now).ok());
      }
    } else if (out == Call::kHeartbeat && what > 0) {
      out = Call::kNone;
      keeper.OnHeartbeatAnswer(what == 1   ? absl::OkStatus()
                               : what == 2 ? absl::UnavailableError("")
                                           : absl::AbortedError(""),
                               now);
      if (held && what == 1 && now < lease_end) lease_end = sent + absl::Seconds(6);
    }
    for (const LeaseAction action : keeper.Advance(now)) {
      switch (action) {
        case LeaseAction::kDropJobs:
          RC_ASSERT(held);
          held = false;
          break;
        case LeaseAction::kRegister:
          RC_ASSERT(!held && out == Call::kNone);
          out = Call::kRegister;
          sent = now;
          break;
        case LeaseAction::kHeartbeat:
          RC_ASSERT(held && out == Call::kNone && now < lease_end);
          out = Call::kHeartbeat;
          sent = now;
          break;
        case LeaseAction::kGiveUp:
          RC_ASSERT(false);
          break;
      }
    }
    RC_ASSERT(held == keeper.registration().has_value());
    RC_ASSERT(!held || now < lease_end);
  }
}

}  // namespace
}  // namespace weir::worker
