#include "runtime/rpc/grpc/certificate_notices.h"

namespace weir::rpc {

CertificateNotice CertificateNotices::Look(absl::Time now) {
  if (now < good_until_ - kCertificateNoticeBefore) return CertificateNotice::kNone;
  const CertificateNotice notice =
      now <= good_until_ ? CertificateNotice::kEndsSoon : CertificateNotice::kHasEnded;
  const bool told_lately =
      told_at_ && now >= *told_at_ && now < *told_at_ + kCertificateNoticeEvery;
  if (notice == told_ && told_lately) return CertificateNotice::kNone;
  told_ = notice;
  told_at_ = now;
  return notice;
}

}  // namespace weir::rpc
