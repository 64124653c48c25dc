#pragma once

// The token in the metadata of a call: who can read it is the user that a server on loopback works
// for. Upstream: GrpcClients. Downstream: GrpcService.

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>

#include <string>

#include "absl/status/status.h"
#include "runtime/rpc/grpc/listen_security.h"

namespace weir::rpc {

/// The token to show to `peer`; empty where none is to be shown. It never leaves the machine.
std::string TokenFor(const Security& security, const std::string& peer);

/// Puts the token into a call that has not begun; an empty one is not put.
void ShowToken(const std::string& token, grpc::ClientContext& context);

/// Errors: kUnauthenticated, saying what to do, unless the call shows `token`. An empty token lets
/// every call pass. Thread-safe.
absl::Status CheckToken(const std::string& token, const grpc::CallbackServerContext& context);

}  // namespace weir::rpc
