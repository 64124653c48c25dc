#pragma once

// A run opened for one request, and how it is sent. Upstream: DataServer. Downstream: RunCatalog,
// the run's file, DataSocket.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "asio/awaitable.hpp"
#include "runtime/base/fd.h"
#include "runtime/transfer/data_socket.h"
#include "runtime/transfer/run_catalog.h"
#include "weir/v1/transfer.pb.h"

namespace weir::transfer {

struct RunSource {
  Fd file;
  v1::DataRequest request;
  bool probe = false;
};

/// Opens the run that is asked for. OK means that the asker has shown the job's token.
/// Errors: of RunCatalog::Find; kOutOfRange; kInvalidArgument (credit below one frame); kNotFound
///   (the file was removed); kResourceExhausted (descriptors, memory); kDataLoss (its disk fails).
absl::StatusOr<RunSource> OpenRun(const RunCatalog& catalog, v1::DataRequest request);

/// Sends a range of the run, in bytes, as one frame, checked through `piece`.
///
/// Errors: as DataSocket::SendFile. kDataLoss, told to the peer as well: the file ends early, or
///   its disk fails; the message names the run.
/// Requires: 0 < bytes <= limits::kBlockBytesMax. Thread-safety: the socket's strand, on which
///   nothing else uses `piece` meanwhile but other calls of this: it is free at each suspension.
asio::awaitable<absl::Status> SendFrame(DataSocket& socket, const RunSource& source,
                                        std::int64_t offset, std::int64_t bytes,
                                        std::vector<char>& piece, DataSocket::Moved* moved);

}  // namespace weir::transfer
