#pragma once

// A daemon's own certificates, watched for their end. Upstream: the two daemons. Downstream: the
// log.

#include "runtime/env/callback_scope.h"
#include "runtime/env/event_loop.h"
#include "runtime/rpc/grpc/certificate_notices.h"
#include "runtime/rpc/grpc/listen_security.h"

namespace weir::app {

/// Says in the log, from two weeks before on, that TLS files must be replaced and the daemon
/// started again: connections that stand go on after the end, so that all of a cluster would be
/// lost one by one, with no change that anybody made.
///
/// Looks once when it is made, and then each hour; never without TLS files.
/// Thread-safety: made, used and destroyed on `loop`, which outlives it, as does `clock`.
/// Checked by: tests/integration/tls_test.py (Tls.test_certificates_that_end_soon_are_told_of).
class CertificateWatch {
 public:
  CertificateWatch(env::EventLoop& loop, const env::WallClock& clock,
                   const rpc::Security& security);

 private:
  absl::Time Now() const;
  void Look();

  env::EventLoop& loop_;
  const env::WallClock& clock_;
  rpc::CertificateNotices notices_;
  env::CallbackScope callbacks_;
};

}  // namespace weir::app
