#pragma once

// The server's end of JobService.Watch.

#include <grpcpp/support/server_callback.h>

#include <memory>

#include "runtime/env/event_loop.h"
#include "runtime/rpc/api.h"
#include "runtime/rpc/grpc/open_calls.h"

namespace weir::rpc {

/// Subscribes on the loop and streams what comes. A watcher that reads slowly misses states in
/// between, never the last one; one that goes away ends its subscription.
/// Bounds: kWatchQueuedMax statuses held.
grpc::ServerWriteReactor<v1::JobStatus>* ServeWatch(const v1::WatchRequest& request,
                                                    env::EventLoop& loop,
                                                    std::shared_ptr<OpenCalls> calls, JobApi& api);

}  // namespace weir::rpc
