#pragma once

// Status across gRPC: code and message as they are, a JobError in the details.

#include <grpcpp/support/status.h>

#include <string_view>

#include "absl/status/status.h"

namespace weir::rpc {

/// A JobError that would not fit into the trailers loses its stderr lines.
grpc::Status ToGrpcStatus(const absl::Status& status);

/// `peer` is added to errors of the carrier itself, which do not name it.
absl::Status FromGrpcStatus(const grpc::Status& status, std::string_view peer);

}  // namespace weir::rpc
