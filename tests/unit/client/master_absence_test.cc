#include "runtime/client/absence/master_absence.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <optional>

#include "runtime/base/job_errors.h"
#include "runtime/rpc/broken_off.h"
#include "runtime/rpc/not_ready.h"
#include "tests/unit/base/moment.h"

namespace weir::client {
namespace {

class FixedRandom final : public env::Random {
 public:
  std::uint64_t Next() override { return value_ += 0x9e3779b97f4a7c15; }

 private:
  std::uint64_t value_ = 0;
};

const absl::Status kAway = absl::UnavailableError("socket closed");

class MasterAbsenceTest : public testing::Test {
 protected:
  FixedRandom random_;
};

TEST_F(MasterAbsenceTest, AnErrorOfAMasterThatIsThereIsNoAbsence) {
  MasterAbsence absence({}, /*reached=*/true, absl::ZeroDuration(), random_);
  EXPECT_FALSE(absence.OnFailure(absl::NotFoundError("no such job"), Moment(1)));
  const absl::Status named = StatusFromJobError(
      absl::StatusCode::kUnavailable, MakeJobError(job_error::kInputUnreadable, "in is away"));
  EXPECT_FALSE(absence.OnFailure(named, Moment(1)));
  EXPECT_FALSE(absence.away());
  EXPECT_TRUE(absence.OnFailure(kAway, Moment(1)));
  EXPECT_TRUE(absence.away());
}

TEST_F(MasterAbsenceTest, OneThatNeverAnsweredHasThePatienceOfAStrangerUnlessTheUserSaysMore) {
  MasterAbsence stranger({}, /*reached=*/false, absl::Seconds(8), random_);
  EXPECT_TRUE(stranger.OnFailure(kAway, Moment(1)));
  EXPECT_FALSE(stranger.OnFailure(kAway, Moment(9)));
  MasterAbsence named({absl::Seconds(30), /*given=*/true}, /*reached=*/false, absl::Seconds(8),
                      random_);
  EXPECT_TRUE(named.OnFailure(kAway, Moment(1)));
  EXPECT_TRUE(named.OnFailure(kAway, Moment(30.9)));
  EXPECT_FALSE(named.OnFailure(kAway, Moment(31)));
  MasterAbsence known({}, /*reached=*/false, absl::Seconds(8), random_);
  EXPECT_FALSE(known.OnAnswer());
  EXPECT_TRUE(known.OnFailure(kAway, Moment(1)));
  EXPECT_TRUE(known.OnFailure(kAway, Moment(600)));
  EXPECT_FALSE(known.OnFailure(kAway, Moment(601)));
}

TEST_F(MasterAbsenceTest, OneThatStartsOrStopsIsThereAndAwayAtOnce) {
  MasterAbsence absence({}, /*reached=*/false, absl::ZeroDuration(), random_);
  EXPECT_FALSE(MasterAbsence(absence).OnFailure(kAway, Moment(1))) << "a wrong address";
  EXPECT_TRUE(absence.OnFailure(rpc::NotReadyError("it is starting"), Moment(1)));
  EXPECT_TRUE(absence.OnFailure(kAway, Moment(2)));
}

TEST_F(MasterAbsenceTest, OneThatBreaksTheFirstCallOffWasThere) {
  MasterAbsence absence({}, /*reached=*/false, absl::ZeroDuration(), random_);
  EXPECT_TRUE(absence.OnFailure(rpc::BrokenOffError("socket closed"), Moment(1)));
  EXPECT_TRUE(absence.OnFailure(kAway, Moment(600)));
  EXPECT_FALSE(absence.OnFailure(kAway, Moment(601)));
}

TEST_F(MasterAbsenceTest, EachAbsenceIsToldOnceAndCountsAnew) {
  MasterAbsence absence({absl::Seconds(10), true}, true, absl::ZeroDuration(), random_);
  for (const double begin : {1.0, 100.0}) {
    EXPECT_FALSE(absence.OnFailure(kAway, Moment(begin))->news) << "it may be a hiccup";
    const auto second = absence.OnFailure(kAway, Moment(begin + 1));
    ASSERT_TRUE(second && second->news);
    EXPECT_EQ(*second->news, absl::Seconds(9));
    EXPECT_FALSE(absence.OnFailure(kAway, Moment(begin + 2))->news);
    EXPECT_TRUE(absence.OnAnswer());
    EXPECT_FALSE(absence.OnAnswer());
  }
}

// However long each try takes: pauses stay within their bounds, few tries are made, and the last
// one is at the end of the grace.
RC_GTEST_PROP(MasterAbsenceProperty, TriesUntilTheGraceIsOverAndNeverHammers, ()) {
  FixedRandom random;
  const absl::Duration grace = absl::Milliseconds(*rc::gen::inRange(1, 600'000));
  MasterAbsence absence({grace, true}, false, absl::ZeroDuration(), random);
  const MonoTime begin = Moment(1);
  MonoTime now = begin;
  int tries = 0;
  while (const auto pause = absence.OnFailure(kAway, now)) {
    ++tries;
    RC_ASSERT(pause->length > absl::ZeroDuration() && pause->length <= absl::Seconds(3));
    now = now + pause->length;
    if (*rc::gen::inRange(0, 3) == 0) now = now + absl::Milliseconds(*rc::gen::inRange(0, 5000));
  }
  RC_ASSERT(now - begin >= grace);
  RC_ASSERT(tries <= 8 + absl::ToDoubleSeconds(grace) / 1.5);
}

}  // namespace
}  // namespace weir::client
