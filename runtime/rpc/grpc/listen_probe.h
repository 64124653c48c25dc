#pragma once

#include <string>

namespace weir::rpc {

/// True when a socket can listen on HOST:PORT now. False as well when the host cannot be resolved.
///
/// Asked before a server is built, so that nothing of gRPC has to be taken down again. Port 0
/// always can. Blocking: resolves the host.
bool CanListen(const std::string& address);

}  // namespace weir::rpc
