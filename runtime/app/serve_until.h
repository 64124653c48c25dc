#pragma once

#include <functional>

#include "runtime/app/control_process.h"
#include "runtime/rpc/grpc/grpc_server.h"

namespace weir::app {

/// Runs the loop of a daemon until `done` holds, and has its server listen again when that has gone
/// deaf: jobs and leases outlive a moment without free descriptors, as they outlive connections
/// that break. Returns false, having logged why, when it cannot listen for ten seconds: the daemon
/// should end then, so that who watches it starts another one.
///
/// `done` is asked on the calling thread, between tasks of the loop.
bool ServeUntil(ControlProcess& process, rpc::GrpcServer& server,
                const std::function<bool()>& done);

}  // namespace weir::app
