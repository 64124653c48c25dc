#pragma once

// One call on its way from a caller over a carrier to a handler. Upstream: Api. Downstream:
// carriers, handlers of servers.

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/rpc/methods.h"

namespace weir::rpc {

/// Called exactly once, on the loop of the caller, at the latest when the call's deadline has
/// passed (kDeadlineExceeded, outcome unknown). kUnavailable: peer unreachable, outcome unknown as
/// well.
template <typename Response>
using Reply = absl::AnyInvocable<void(absl::StatusOr<Response>)>;

/// Ends its stream when destroyed; no callback comes after that. Destroy on the loop.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

/// What is asked, and where the answer goes.
template <typename Method>
struct Call {
  /// What whoever takes the call gives back at once.
  using Taken = void;
  typename Method::Request request;
  Reply<typename Method::Response> reply;
  /// How long the caller waits.
  absl::Duration timeout = Method::kTimeout;

  /// Replies with `done`, or, where that is OK, with an empty response.
  void Acknowledge(const absl::Status& done) {
    if (!done.ok()) return reply(done);
    reply(typename Method::Response());
  }
};

/// The same for a stream: `on_message` once for each answer, in order; then `on_end` once: OK after
/// the last one, else why it broke off.
template <typename Method>
requires(Method::kStreams) struct Call<Method> {
  using Taken = std::unique_ptr<Subscription>;
  typename Method::Request request;
  absl::AnyInvocable<void(typename Method::Response)> on_message;
  absl::AnyInvocable<void(absl::Status)> on_end;
};

}  // namespace weir::rpc
