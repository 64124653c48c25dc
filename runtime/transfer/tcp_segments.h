#pragma once

// What the kernel counts of one TCP connection. Upstream: DataSocket. Downstream: the kernel.

#include "runtime/transfer/data_server.h"

namespace weir::transfer {

/// Returns what this connection has sent so far, and by how much its round trips are longer now
/// than the shortest was. Zeros where the kernel does not tell (it is no TCP socket, or is closed).
SegmentCounts SegmentsOf(int socket);

}  // namespace weir::transfer
