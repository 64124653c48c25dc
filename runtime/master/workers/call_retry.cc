#include "runtime/master/workers/call_retry.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/job_errors.h"

namespace weir::master {
namespace {

constexpr absl::Duration kBackoffMin = absl::Milliseconds(50);
constexpr absl::Duration kBackoffMax = absl::Milliseconds(800);

// What is garbled on its way once arrives whole another time; what never does, nobody reads there.
constexpr int kGarbledTriesMax = 3;

struct Call {
  env::EventLoop& loop;
  env::Random& random;
  CallBudget budget;
  CallAttempt attempt;
  absl::AnyInvocable<void(absl::Status)> done;
  MonoTime give_up;
  absl::Duration backoff = kBackoffMin;
  int num_tries = 0;
  int num_garbled = 0;
  absl::Status failure = absl::OkStatus();  // the last one that tells anything
};

bool MayHelpToAskAgain(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// What gRPC says where bytes of a call, or memory for it, were amiss on its way (kUnimplemented of
// a request that cannot be read), and what a peer says of a request that contradicts itself. Who
// has something to say of the job names it.
bool WasGarbled(const absl::Status& status) {
  if (CarriesJobError(status)) return false;
  switch (status.code()) {
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

// What all tries together came to.
absl::Status Summary(const Call& call) {
  if (call.num_tries == 1 || CarriesJobError(call.failure)) return call.failure;
  return absl::Status(call.failure.code(),
                      absl::StrCat(call.failure.message(), " (asked ", call.num_tries, " times in ",
                                   absl::FormatDuration(call.budget.total), ")"));
}

void Try(const std::shared_ptr<Call>& call) {
  const absl::Duration left = call->give_up - call->loop.Now();
  const bool cut_short = left < call->budget.attempt_timeout;
  ++call->num_tries;
  call->attempt(
      std::min(left, call->budget.attempt_timeout), [call, cut_short](absl::Status status) {
        // Between half and the whole backoff, so that callers that failed together do not return
        // together.
        const double share = 0.5 + 0.5 * static_cast<double>(call->random.Next() >> 11) * 0x1p-53;
        const absl::Duration pause = call->backoff * share;
        const MonoTime next = call->loop.Now() + pause;
        const bool once_more = WasGarbled(status) && ++call->num_garbled < kGarbledTriesMax;
        if (!once_more && !MayHelpToAskAgain(status)) return call->done(std::move(status));
        const bool tells_nothing = cut_short && absl::IsDeadlineExceeded(status);
        if (call->failure.ok() || !tells_nothing) call->failure = std::move(status);
        if (next >= call->give_up) return call->done(Summary(*call));
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
