#pragma once

// Whole frames over a DataSocket. Upstream/Downstream: the other end's frame_stream.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "asio/awaitable.hpp"
#include "runtime/transfer/data_socket.h"
#include "runtime/transfer/frame.h"

namespace weir::transfer {

/// Reads a header. Errors: of the socket; kDataLoss: what came is not such a frame.
asio::awaitable<absl::StatusOr<FrameHeader>> ReadFrameHeader(DataSocket& socket);

/// Reads and checks the body of a frame that must be of `kind` and small (not kData).
asio::awaitable<absl::StatusOr<std::string>> ReadSmallBody(DataSocket& socket, FrameHeader header,
                                                           FrameKind kind);

/// Reads one small frame of `kind`.
asio::awaitable<absl::StatusOr<std::string>> ReadSmallFrame(DataSocket& socket, FrameKind kind);

}  // namespace weir::transfer
