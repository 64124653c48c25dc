#include "runtime/rpc/grpc/certificate_notices.h"

#include "gtest/gtest.h"

namespace weir::rpc {
namespace {

constexpr absl::Duration kDay = absl::Hours(24);
const absl::Time kEnd = absl::FromUnixSeconds(1'800'000'000);

TEST(CertificateNotices, SayNothingWhileThereIsTime) {
  CertificateNotices notices(kEnd);
  EXPECT_EQ(notices.Look(kEnd - 300 * kDay), CertificateNotice::kNone);
  EXPECT_EQ(notices.Look(kEnd - kCertificateNoticeBefore - absl::Seconds(1)),
            CertificateNotice::kNone);
  CertificateNotices none(absl::InfiniteFuture());
  EXPECT_EQ(none.Look(kEnd), CertificateNotice::kNone);
}

TEST(CertificateNotices, SayOnceADayThatItEndsAndThenThatItHas) {
  CertificateNotices notices(kEnd);
  int soon = 0, ended = 0;
  // As daemons look: each hour, from a month before to three days after.
  for (absl::Time now = kEnd - 30 * kDay; now < kEnd + 3 * kDay; now += absl::Hours(1)) {
    const CertificateNotice notice = notices.Look(now);
    soon += notice == CertificateNotice::kEndsSoon ? 1 : 0;
    ended += notice == CertificateNotice::kHasEnded ? 1 : 0;
    if (notice == CertificateNotice::kHasEnded) {
      EXPECT_GT(now, kEnd);
    }
  }
  // The end is its last good moment, which is a look of its own.
  EXPECT_EQ(soon, 15);
  EXPECT_EQ(ended, 3);
}

TEST(CertificateNotices, SayAtOnceWhatAClockThatIsSetShows) {
  CertificateNotices notices(kEnd);
  EXPECT_EQ(notices.Look(kEnd - kDay), CertificateNotice::kEndsSoon);
  EXPECT_EQ(notices.Look(kEnd + kDay / 2), CertificateNotice::kHasEnded);
  // Back, by less than a day after what was said first.
  EXPECT_EQ(notices.Look(kEnd - kDay), CertificateNotice::kEndsSoon);
  EXPECT_EQ(notices.Look(kEnd - kDay / 2), CertificateNotice::kNone);
}

}  // namespace
}  // namespace weir::rpc
