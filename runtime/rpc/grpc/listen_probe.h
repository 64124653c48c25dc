#pragma once

#include <string>

namespace weir::rpc {

/// True when a socket can listen on HOST:PORT now. False as well when the host cannot be resolved.
///
/// gRPC 1.51 now and then never returns from taking down a server that could not bind
/// (docs/bug_ledger.md), so a server is only built where this succeeds. Port 0 always can.
/// Blocking: resolves the host.
bool CanListen(const std::string& address);

}  // namespace weir::rpc
