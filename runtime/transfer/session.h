#pragma once

// One connection of a data server. Upstream: Server (data_server.cc). Downstream: DataSocket.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "asio/ip/tcp.hpp"
#include "runtime/transfer/data_server.h"
#include "runtime/transfer/data_socket.h"
#include "runtime/transfer/one_port.h"
#include "runtime/transfer/stranger_connections.h"

namespace weir::transfer {

/// One connection, and the job it sends for. Holds no buffer: strangers have one as well.
/// Thread-safety: the server's strand.
struct Session {
  Session(StrangerConnections::Id session_id, asio::ip::tcp::socket accepted)
      : id(session_id), socket(std::make_shared<DataSocket>(std::move(accepted))) {}

  /// Adds what the connection has sent since this was called last.
  void CountSegments(SegmentCounts& all) {
    const SegmentCounts now = socket->Segments();
    all.sent += std::max<std::int64_t>(0, now.sent - counted.sent);
    all.resent += std::max<std::int64_t>(0, now.resent - counted.resent);
    all.queue_s = std::max(all.queue_s, now.queue_s);
    if (now.sent > 0) counted = now;
  }

  const StrangerConnections::Id id;
  const std::shared_ptr<DataSocket> socket;
  bool token_shown = false;
  std::string job_id;         // empty between sends
  std::int32_t transfer = 0;  // of the request
  std::int32_t attempt = 0;   // 0: nobody can name this send
  std::optional<OnePort::Id> port_use;
  std::string congestion_control;  // set last; empty = the system's
  SegmentCounts counted;           // what CountSegments has added
};

}  // namespace weir::transfer
