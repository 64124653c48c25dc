#pragma once

// Status across gRPC: code and message as they are, a JobError in the details.

#include <grpcpp/support/status.h>

#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weir::rpc {

/// What a server that closes says to the calls that it has.
inline constexpr absl::string_view kShuttingDown = "the server is shutting down";

/// A JobError that would not fit into the trailers loses its stderr lines.
grpc::Status ToGrpcStatus(const absl::Status& status);

/// Who may have ended a call that gRPC says was cancelled.
enum class Canceller {
  kThisProcess,  // it asked for that
  kPeer,
};

/// `peer` is added to errors of the carrier itself, which do not name it; one that had taken the
/// connection makes it a BrokenOffError. So does a call that a server drops as it goes down, of
/// which gRPC says CANCELLED and no more. Checked by: tests/unit/rpc/grpc_test.cc.
absl::Status FromGrpcStatus(const grpc::Status& status, std::string_view peer, Canceller canceller);

}  // namespace weir::rpc
