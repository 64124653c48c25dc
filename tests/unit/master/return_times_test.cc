#include "runtime/master/workers/return_times.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace weir::master {
namespace {

const MonoTime kStart = MonoTime() + absl::Seconds(100);

/// A master that has seen these times away, one after the other; the last of each worker counts.
ReturnTimes After(const std::vector<absl::Duration>& away, MonoTime* now) {
  ReturnTimes times;
  for (std::size_t i = 0; i < away.size(); ++i) {
    const std::string worker = absl::StrCat("w", i);
    times.Lost(worker, *now);
    if (away[i] == absl::InfiniteDuration()) {
      *now = *now + absl::Seconds(60);
      continue;
    }
    *now = *now + away[i];
    times.Back(worker, *now);
  }
  return times;
}

TEST(ReturnTimesTest, AMasterThatHasSeenNothingWaitsForWorkThatIsWorthIt) {
  const ReturnTimes times;
  // Two of four are back after 0.2 s, one after 1 s.
  EXPECT_EQ(times.WorthWaiting(absl::Seconds(0.3), kStart).wait, absl::ZeroDuration());
  EXPECT_EQ(times.WorthWaiting(absl::Seconds(0.8), kStart).wait, absl::Seconds(0.2));
  const ReturnWait waits = times.WorthWaiting(absl::Seconds(4), kStart);
  EXPECT_EQ(waits.wait, absl::Seconds(1));
  EXPECT_EQ(waits.expected, absl::Seconds(1.6));  // (0.2 + 0.2 + 1 + 1 + 4) / 4
  EXPECT_EQ(waits.without, absl::Seconds(4));
}

TEST(ReturnTimesTest, WhereWorkersComeBackAtOnceItWaitsForLess) {
  MonoTime now = kStart;
  const ReturnTimes times = After(std::vector<absl::Duration>(16, absl::Milliseconds(100)), &now);
  const ReturnWait waits = times.WorthWaiting(absl::Seconds(0.15), now);
  EXPECT_EQ(waits.wait, absl::Milliseconds(100));
  EXPECT_LT(waits.expected, absl::Seconds(0.14));
}

TEST(ReturnTimesTest, WhereNobodyComesBackItDoesNotWait) {
  MonoTime now = kStart;
  const ReturnTimes times = After(std::vector<absl::Duration>(8, absl::InfiniteDuration()), &now);
  EXPECT_EQ(times.WorthWaiting(absl::Seconds(1), now).wait, absl::ZeroDuration());
}

TEST(ReturnTimesTest, OfOneThatWasLostJustNowNothingIsKnown) {
  MonoTime now = kStart;
  ReturnTimes times = After(std::vector<absl::Duration>(2, absl::Milliseconds(100)), &now);
  const ReturnWait before = times.WorthWaiting(absl::Seconds(1), now);
  times.Lost("lost now", now);
  EXPECT_EQ(times.WorthWaiting(absl::Seconds(1), now).wait, before.wait);
  EXPECT_EQ(times.WorthWaiting(absl::Seconds(1), now).expected, before.expected);
  // A second later it has not come back.
  const ReturnWait later = times.WorthWaiting(absl::Seconds(1), now + absl::Seconds(1));
  EXPECT_GT(later.expected, before.expected);
}

TEST(ReturnTimesTest, OldLossesAreForgotten) {
  MonoTime now = kStart;
  ReturnTimes times = After(std::vector<absl::Duration>(100, absl::InfiniteDuration()), &now);
  for (std::size_t i = 0; i < ReturnTimes::kRemembered; ++i) {
    times.Lost("again", now);
    now = now + absl::Milliseconds(50);
    times.Back("again", now);
  }
  EXPECT_EQ(times.WorthWaiting(absl::Seconds(0.1), now).wait, absl::Milliseconds(50));
}

TEST(ReturnTimesTest, SaysWhatItExpects) {
  EXPECT_EQ((ReturnWait{absl::Seconds(0.5), absl::Seconds(2.5), absl::Seconds(4)}).Words("w3"),
            "waiting 0.50 s for w3 is expected to cost 2.50 s, making its runs again 4.00 s");
}

RC_GTEST_PROP(ReturnTimesPropertyTest, NoOtherWaitIsExpectedToCostLess, ()) {
  std::vector<absl::Duration> away;
  for (const int ms : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 3000))) {
    away.push_back(ms > 2500 ? absl::InfiniteDuration() : absl::Milliseconds(ms));
  }
  if (away.size() > ReturnTimes::kRemembered) away.resize(ReturnTimes::kRemembered);
  MonoTime now = kStart;
  const ReturnTimes times = After(away, &now);
  const absl::Duration redo = absl::Milliseconds(*rc::gen::inRange(0, 3000));
  const ReturnWait chosen = times.WorthWaiting(redo, now);
  away.insert(away.end(), ReturnTimes::kPriorAway.begin(), ReturnTimes::kPriorAway.end());
  for (int ms = 0; ms <= 3000; ms += 7) {
    const absl::Duration wait = absl::Milliseconds(ms);
    absl::Duration total;
    for (const absl::Duration each : away) total += each <= wait ? each : wait + redo;
    const absl::Duration mean = total / static_cast<std::int64_t>(away.size());
    RC_ASSERT(std::min(mean, redo) + absl::Nanoseconds(1) >= chosen.expected);
  }
}

}  // namespace
}  // namespace weir::master
