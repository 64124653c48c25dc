#pragma once

// When a daemon says that its certificates end: it reads its TLS files once, at its start, so that
// somebody must replace them and start it again in time. Upstream: runtime/app. Pure.

#include <optional>

#include "absl/time/time.h"

namespace weir::rpc {

/// Two weeks: whoever reads logs once a week reads it twice.
inline constexpr absl::Duration kCertificateNoticeBefore = absl::Hours(14 * 24);
/// How often it is said.
inline constexpr absl::Duration kCertificateNoticeEvery = absl::Hours(24);

enum class CertificateNotice { kNone, kEndsSoon, kHasEnded };

/// Decides at each look what is to be said: nothing until kCertificateNoticeBefore before the end,
/// then that it ends soon, then that it has ended; each at once, and again each day.
///
/// Thread-safety: none needed, one owner. Time: wall clock, passed in as `now`; where it goes
///   backwards, something may be said once more.
/// Checked by: tests/unit/rpc/certificate_notices_test.cc.
class CertificateNotices {
 public:
  /// `good_until`: as TlsFilesGoodUntil says; InfiniteFuture has nothing said, ever.
  explicit CertificateNotices(absl::Time good_until) : good_until_(good_until) {}
  CertificateNotice Look(absl::Time now);
  absl::Time good_until() const { return good_until_; }

 private:
  absl::Time good_until_;
  CertificateNotice told_ = CertificateNotice::kNone;
  std::optional<absl::Time> told_at_;
};

}  // namespace weir::rpc
