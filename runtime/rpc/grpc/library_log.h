#pragma once

#include <cstdint>

namespace weir::rpc {

/// Sends what the gRPC library logs through our log: what it calls an error is most often a peer's
/// garbage, so it is a warning here, and few of them are told (library_lines.h). Thread-safe; only
/// the first call does anything.
void RouteLibraryLog();

/// How many listening sockets of this process gRPC has given up for good, as it does when a
/// connection finds no descriptor (grpc/grpc#20418), since RouteLibraryLog. Thread-safe.
std::int64_t NumListenersLost();

}  // namespace weir::rpc
