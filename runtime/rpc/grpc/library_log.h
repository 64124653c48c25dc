#pragma once

namespace weir::rpc {

/// Sends what the gRPC library logs through our log: what it calls an error is most often a peer's
/// garbage, so it is a warning here. Thread-safe; only the first call does anything.
void RouteLibraryLog();

}  // namespace weir::rpc
