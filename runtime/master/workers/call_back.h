#pragma once

// Whether a worker that registers can be reached where it says. Pure. Upstream: Master, which calls
// it back there. Downstream: nothing.

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weir/v1/services.pb.h"

namespace weir::master {

/// Takes what was answered at the control endpoint that `request` names. OK where that was the
/// worker itself, or one of a version that cannot say who it is.
/// Errors: kUnavailable naming endpoint, reason and what to do, where nobody answered or another
///   worker did: such a worker would be given work that it cannot be told of, and each job would
///   end by that. Its daemon tries again for as long as it lives.
/// Checked by: tests/unit/master/call_back_test.cc, tests/integration/cluster_failure_test.py.
absl::Status CheckCallBack(const v1::RegisterRequest& request,
                           const absl::StatusOr<v1::IdentifyResponse>& answer);

}  // namespace weir::master
