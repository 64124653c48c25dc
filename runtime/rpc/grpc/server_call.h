#pragma once

// One unary call on the server: from gRPC's thread to the loop and back.

#include <grpc/support/time.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/base/limits.h"
#include "runtime/env/event_loop.h"
#include "runtime/rpc/api.h"
#include "runtime/rpc/grpc/call_settings.h"
#include "runtime/rpc/grpc/call_status.h"
#include "runtime/rpc/grpc/caller_rules.h"
#include "runtime/rpc/grpc/open_calls.h"
#include "runtime/rpc/pending_reply.h"

namespace weir::rpc {

/// How long a server lets a call wait for its answer, whatever its caller's deadline. What a
/// handler waits for, and says when that is over, may take as long as the method's row says.
template <typename Method>
absl::Duration LongestCall() {
  return std::max(kServerCallMax, Method::kTimeout + limits::kCallTimeout);
}

/// Time left until the caller's deadline, at most `longest`.
inline absl::Duration TimeLeft(const grpc::CallbackServerContext& context, absl::Duration longest) {
  const gpr_timespec deadline = context.raw_deadline();
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  if (gpr_time_cmp(left, gpr_inf_future(GPR_TIMESPAN)) == 0) return longest;
  const auto duration = absl::Seconds(left.tv_sec) + absl::Nanoseconds(left.tv_nsec);
  return std::min(duration, longest);
}

/// Finishes a reactor once; whoever comes second finds nothing to do. Thread-safe.
template <typename Response>
class ServerCall {
 public:
  ServerCall(grpc::ServerUnaryReactor* reactor, Response* response,
             std::shared_ptr<OpenCalls> calls)
      : reactor_(reactor), response_(response), calls_(std::move(calls)) {}

  /// Puts the call, which `self` owns, under those that end with the server. False when the server
  /// is closing already.
  bool Enter(const std::shared_ptr<ServerCall>& self) {
    return calls_->Enter([self] { self->Finish(absl::UnavailableError(kShuttingDown)); }, &key_);
  }

  void Finish(absl::StatusOr<Response> answer) {
    grpc::ServerUnaryReactor* reactor = nullptr;
    {
      const std::lock_guard lock(mutex_);
      reactor = std::exchange(reactor_, nullptr);
    }
    if (!reactor) return;
    if (answer.ok()) *response_ = *std::move(answer);
    // After this the call's memory belongs to gRPC again.
    reactor->Finish(ToGrpcStatus(answer.status()));
    calls_->Leave(key_);
  }

  bool open() {
    const std::lock_guard lock(mutex_);
    return reactor_ != nullptr;
  }

 private:
  std::mutex mutex_;
  grpc::ServerUnaryReactor* reactor_;  // guarded by mutex_; null once finished
  Response* response_;
  const std::shared_ptr<OpenCalls> calls_;
  OpenCalls::Key key_ = 0;
};

/// Takes the call to `api` on `loop` and answers with what it replies. A call that does not show
/// what `rules` ask for never gets there.
template <typename Method>
grpc::ServerUnaryReactor* ServeUnary(grpc::CallbackServerContext* context,
                                     const typename Method::Request& request,
                                     typename Method::Response* response, env::EventLoop& loop,
                                     std::shared_ptr<OpenCalls> calls, const CallerRules& rules,
                                     const Api<typename Method::Service>& api) {
  using Response = typename Method::Response;
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  if (absl::Status known = CheckCallerOf<Method>(rules, *context); !known.ok()) {
    reactor->Finish(ToGrpcStatus(known));
    return reactor;
  }
  auto call = std::make_shared<ServerCall<Response>>(reactor, response, std::move(calls));
  if (!call->Enter(call)) {
    call->Finish(absl::UnavailableError(kShuttingDown));
    return reactor;
  }
  loop.Post(
      [&loop, call, &api, timeout = TimeLeft(*context, LongestCall<Method>()), request]() mutable {
        if (!call->open()) return;  // closed meanwhile; `api` may be gone
        auto pending = PendingReply<Response>::Start(
            loop, timeout, Method::kName,
            [call](absl::StatusOr<Response> answer) { call->Finish(std::move(answer)); });
        api.template Send<Method>(
            std::move(request), timeout,
            [pending](absl::StatusOr<Response> answer) { pending->Answer(std::move(answer)); });
      });
  return reactor;
}

}  // namespace weir::rpc
