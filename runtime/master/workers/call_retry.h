#pragma once

// Calls to a worker that are asked again when nobody answered. Every call is idempotent, so asking
// twice does no harm. Upstream: ConductorRun, JobRun. Downstream: rpc::WorkerApi.

#include <algorithm>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/base/mono_time.h"
#include "runtime/env/event_loop.h"

namespace weir::master {

/// How long one call may take, and all tries of it together.
struct CallBudget {
  absl::Duration attempt_timeout;
  absl::Duration total;

  /// Each try as long as the method's row says.
  template <typename Method>
  static constexpr CallBudget Of(absl::Duration total) {
    return {Method::kTimeout, total};
  }
};

/// Makes one try with the given timeout; answers with OK or why not.
using CallAttempt =
    absl::AnyInvocable<void(absl::Duration, absl::AnyInvocable<void(absl::Status)>)>;

/// Repeats `attempt` with jittered backoff (50 ms doubling to 800 ms) while it ends with
/// kUnavailable or kDeadlineExceeded and the budget lasts, then calls `done` once with the last
/// answer. One that says that the call was garbled on its way (kUnimplemented, kInternal, kUnknown,
/// kInvalidArgument, kResourceExhausted or kDataLoss, without a named error) is the last at its
/// third time. When the budget ends it, `done` gets the last failure that tells anything (a try
/// that the end of the budget cut short tells nothing), how often was asked and for how long.
/// Cancellation: guard `attempt` and `done` by a env::CallbackScope; a dead guard ends the
/// repeating. Thread-safety: on the loop only.
void CallWithRetry(env::EventLoop& loop, env::Random& random, CallBudget budget,
                   CallAttempt attempt, absl::AnyInvocable<void(absl::Status)> done);

/// How long the caller itself stood still while a CallWithRetry that began at `asked` went on, if
/// its failure comes at `now`: tries end with their budget, so what is beyond it is nobody's
/// silence. Who counts how long a peer has been silent takes it off.
inline absl::Duration StoodStillInCall(MonoTime asked, const CallBudget& budget, MonoTime now) {
  return std::max(absl::ZeroDuration(), now - asked - budget.total);
}

}  // namespace weir::master
