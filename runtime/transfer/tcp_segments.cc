#include "runtime/transfer/tcp_segments.h"

// Not <netinet/tcp.h>: its tcp_info ends before the shortest round trip.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>

namespace weir::transfer {

SegmentCounts SegmentsOf(int socket) {
  tcp_info info = {};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  // Older kernels tell less.
  if (size < offsetof(tcp_info, tcpi_data_segs_out) + sizeof info.tcpi_data_segs_out) return {};
  constexpr double kMicrosecond = 1e-6;
  // Before the first round trip the shortest is the greatest number there is.
  const bool known = info.tcpi_rtt > info.tcpi_min_rtt;
  return {info.tcpi_data_segs_out, info.tcpi_total_retrans,
          known ? kMicrosecond * (info.tcpi_rtt - info.tcpi_min_rtt) : 0.0};
}

}  // namespace weir::transfer
