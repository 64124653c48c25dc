#pragma once

// The listener of a master or worker. Upstream: GrpcClients in other processes. Downstream: the
// servers of JobApi, ClusterApi and WorkerApi on their loop.

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/env/event_loop.h"
#include "runtime/rpc/api.h"
#include "runtime/rpc/grpc/listen_security.h"

namespace weir::rpc {

/// What a server offers; null = not offered. All run on one loop.
struct Services {
  const JobApi* jobs = nullptr;
  const ClusterApi* cluster = nullptr;
  const WorkerApi* worker = nullptr;
};

/// Decodes calls, hands them to the loop and answers: at the latest at the caller's deadline, and
/// within a minute when it set none. Also serves grpc.health.v1 and, on loopback, reflection; these
/// two to everybody, the services only to who shows the token that `security` asks for.
///
/// Bounds: limits::kMessageBytesMax a message; what is longer, truncated or no protobuf is refused
///   by gRPC and never reaches the loop.
/// Ownership: the services must live until the server is destroyed and the loop has run what was
///   posted, or has stopped.
class GrpcServer {
 public:
  /// Listens at once. `address` is HOST:PORT; port 0 = any free one.
  /// Errors: those of CheckListenAddress; kUnavailable when the address is taken; kInvalidArgument
  ///   for TLS files that do not fit.
  static absl::StatusOr<std::unique_ptr<GrpcServer>> Start(const std::string& address,
                                                           const Security& security,
                                                           env::EventLoop& loop,
                                                           const Services& services);
  virtual ~GrpcServer() = default;

  virtual int port() const = 0;
  /// Sets what grpc.health.v1 says of a role ("weir.master", "weir.worker"); unknown before.
  virtual void SetServing(const std::string& role, bool serving) = 0;
  /// True when nobody new can connect any more: gRPC 1.51 ends a listener for good when a
  /// connection finds no descriptor. Connections that are there go on. Also true of a closed one.
  virtual bool deaf() const = 0;
  /// Closes, and listens once more on the same port, with the same health of roles. Blocking, as
  /// Close. Errors: of Start; the server is then closed, and this may be called again.
  virtual absl::Status ListenAgain() = 0;
  /// Stops listening and answers what is open with kUnavailable. Blocking, at most half a second.
  virtual void Close() = 0;
};

}  // namespace weir::rpc
