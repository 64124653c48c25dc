// Workers that are lost again and again: when they are given work again.

#include "runtime/master/newcomers/return_pauses.h"

#include <gtest/gtest.h>

#include "tests/unit/base/moment.h"

namespace weir::master {
namespace {

TEST(ReturnPauses, WhoIsLostSeldomIsTakenBackAtOnce) {
  ReturnPauses pauses;
  EXPECT_EQ(pauses.Left("a", Moment(0)), absl::ZeroDuration());
  pauses.Lost("a", Moment(1));
  EXPECT_EQ(pauses.Left("a", Moment(1)), absl::ZeroDuration());
  pauses.Lost("a", Moment(2));
  EXPECT_EQ(pauses.Left("a", Moment(2)), absl::ZeroDuration());
}

TEST(ReturnPauses, WhoIsLostAgainAndAgainIsLeftAloneForLongerAndLonger) {
  ReturnPauses pauses;
  for (const double at_s : {0.0, 1.0, 2.0}) pauses.Lost("a", Moment(at_s));
  EXPECT_EQ(pauses.Left("a", Moment(2)), kReturnPause);
  EXPECT_EQ(pauses.Left("a", Moment(5)), kReturnPause - absl::Seconds(3));
  EXPECT_EQ(pauses.Left("a", Moment(12)), absl::ZeroDuration());
  EXPECT_EQ(pauses.Left("b", Moment(5)), absl::ZeroDuration()) << "another one";
  pauses.Lost("a", Moment(13));
  EXPECT_EQ(pauses.Left("a", Moment(13)), 2 * kReturnPause);
  for (int more = 0; more < 100; ++more) pauses.Lost("a", Moment(14));
  EXPECT_EQ(pauses.Left("a", Moment(14)), kReturnPauseMax);
}

TEST(ReturnPauses, WhoStaysForLongEnoughIsLikeAnyOther) {
  ReturnPauses pauses;
  for (int loss = 0; loss < 5; ++loss) pauses.Lost("a", Moment(0));
  pauses.Lost("a", Moment(0) + kReturnForgotten);
  EXPECT_EQ(pauses.Left("a", Moment(0) + kReturnForgotten), absl::ZeroDuration());
}

}  // namespace
}  // namespace weir::master
