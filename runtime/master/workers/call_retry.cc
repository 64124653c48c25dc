#include "runtime/master/workers/call_retry.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace weir::master {
namespace {

constexpr absl::Duration kBackoffMin = absl::Milliseconds(50);
constexpr absl::Duration kBackoffMax = absl::Milliseconds(800);

struct Call {
  env::EventLoop& loop;
  env::Random& random;
  CallBudget budget;
  CallAttempt attempt;
  absl::AnyInvocable<void(absl::Status)> done;
  MonoTime give_up;
  absl::Duration backoff = kBackoffMin;
};

bool MayHelpToAskAgain(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

void Try(const std::shared_ptr<Call>& call) {
  const absl::Duration left = call->give_up - call->loop.Now();
  call->attempt(std::min(left, call->budget.attempt_timeout), [call](absl::Status status) {
    // Between half and the whole backoff, so that callers that failed together do not return
    // together.
    const double share = 0.5 + 0.5 * static_cast<double>(call->random.Next() >> 11) * 0x1p-53;
    const absl::Duration pause = call->backoff * share;
    const MonoTime next = call->loop.Now() + pause;
    if (!MayHelpToAskAgain(status) || next >= call->give_up) return call->done(std::move(status));
    call->backoff = std::min(2 * call->backoff, kBackoffMax);
    call->loop.RunAt(next, [call] { Try(call); });
  });
}

}  // namespace

void CallWithRetry(env::EventLoop& loop, env::Random& random, CallBudget budget,
                   CallAttempt attempt, absl::AnyInvocable<void(absl::Status)> done) {
  const MonoTime give_up = loop.Now() + budget.total;
  Try(std::make_shared<Call>(
      Call{loop, random, budget, std::move(attempt), std::move(done), give_up}));
}

}  // namespace weir::master
