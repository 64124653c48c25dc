#include "runtime/app/certificate_watch.h"

#include <string>

#include "runtime/base/log.h"
#include "runtime/rpc/grpc/tls_files.h"

namespace weir::app {
namespace {

constexpr absl::Duration kLookEvery = absl::Hours(1);

}  // namespace

CertificateWatch::CertificateWatch(env::EventLoop& loop, const env::WallClock& clock,
                                   const rpc::Security& security)
    : loop_(loop),
      clock_(clock),
      notices_(security.tls ? rpc::TlsFilesGoodUntil(*security.tls, Now(), rpc::TlsUse::kServes)
                            : absl::InfiniteFuture()) {
  if (security.tls) Look();
}

absl::Time CertificateWatch::Now() const { return absl::FromUnixMillis(clock_.UnixMillis()); }

void CertificateWatch::Look() {
  const std::string until =
      absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", notices_.good_until(), absl::UTCTimeZone());
  switch (notices_.Look(Now())) {
    case rpc::CertificateNotice::kNone:
      break;
    case rpc::CertificateNotice::kEndsSoon:
      LogWarning(
          "A certificate of the TLS files ends soon; they are read at the start only: replace them "
          "and start this daemon again",
          {{"good_until", until}});
      break;
    case rpc::CertificateNotice::kHasEnded:
      LogError(
          "A certificate of the TLS files has ended: no new connection comes about; replace them "
          "and start this daemon again",
          {{"good_until", until}});
      break;
  }
  loop_.RunAt(loop_.Now() + kLookEvery, callbacks_.Guard([this] { Look(); }));
}

}  // namespace weir::app
