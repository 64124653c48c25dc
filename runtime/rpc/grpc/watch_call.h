#pragma once

// The client's end of JobService.Watch.

#include <grpc/support/time.h>
#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "runtime/env/event_loop.h"
#include "runtime/rpc/api.h"
#include "runtime/rpc/grpc/open_calls.h"

namespace weir::rpc {

/// Returns the moment `timeout` from now on gRPC's own clock.
gpr_timespec DeadlineAfter(absl::Duration timeout);

/// Streams without a deadline of its own: a watch lasts as long as its job; keepalive finds a dead
/// master.
std::unique_ptr<Subscription> StartWatchCall(std::shared_ptr<grpc::Channel> channel,
                                             const std::string& peer, env::EventLoop& loop,
                                             std::shared_ptr<OpenCalls> calls,
                                             v1::WatchRequest request,
                                             absl::AnyInvocable<void(v1::JobStatus)> on_status,
                                             absl::AnyInvocable<void(absl::Status)> on_end);

}  // namespace weir::rpc
