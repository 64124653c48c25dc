#pragma once

// The sending half of the data plane. Upstream: runs published in a RunCatalog. Downstream:
// fetchers of other workers. Made by MakeDataServer (data_plane.h).

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "runtime/base/limits.h"
#include "runtime/transfer/send_rates.h"

namespace weir::transfer {

struct DataServerOptions {
  /// Numeric address to listen on.
  std::string listen_host = "127.0.0.1";
  /// 0 = any free port.
  std::uint16_t port = 0;
  /// Congestion control of every send, for example "reno" or "bbr"; empty = by the kind of send
  /// (congestion_control.h).
  std::string congestion_control;
  /// One more is told so (kResourceExhausted) and closed.
  int connections_max = limits::kDataConnectionsMax;
  /// Connections that have shown no token of a job yet; they do not count as the ones above. One
  /// more displaces one of them (stranger_connections.h).
  int strangers_max = limits::kDataStrangersMax;
  /// From the connection to the end of a request with such a token.
  absl::Duration first_request = limits::kDataFirstRequest;
  /// A peer that neither takes nor sends a byte for this long, while one is due, is cut off.
  absl::Duration silence = limits::kTransferSilence;
  /// A connection without a request for this long is closed.
  absl::Duration idle = limits::kDataIdle;
};

/// Totals since start. Thread-safe copies of values that only grow.
struct DataServerCounters {
  std::int64_t connections = 0;
  std::int64_t connections_refused = 0;  // too many at once, with their token
  std::int64_t strangers_closed = 0;     // showed no token in time, or were displaced
  std::int64_t sends = 0;                // completed
  std::int64_t sends_broken = 0;         // the peer went away, fell silent or broke the protocol
  std::int64_t requests_refused = 0;     // answered with an error
  std::int64_t bytes = 0;                // run bytes handed to sockets
  double busy_s = 0;                     // summed over sends
};

/// What TCP made of what was sent, where the kernel tells.
struct SegmentCounts {
  std::int64_t sent = 0;    // segments with data, sent again ones among them
  std::int64_t resent = 0;  // as of TCP_INFO, tcpi_total_retrans
  /// The most by which a connection's round trips were longer than its shortest, at the ends of
  /// sends and now: what queues on its way held.
  double queue_s = 0;
};

/// Answers requests for byte ranges of published runs.
///
/// One send of each job at a time: a request that comes while another send of its job has more left
/// than the look-ahead it was granted with is refused (kFailedPrecondition); within its look-ahead
/// the new request waits its turn. Requests marked concurrent (plan mode "fetch from all") run
/// beside each other, and so do those of several jobs.
/// Never more bytes are on the way than the receiver gave credit for.
/// Strangers cost little: no buffer, a bound of their own, a deadline that bytes do not extend.
/// Thread-safety: every method may be called from any thread.
/// Bounds: one piece of 128 KiB to read for all sends together; rates as SendRates keeps them.
/// Failure semantics: bytes that are not a request, and memory that there is none of, close their
///   connection and nothing else.
/// Checked by: tests/unit/transfer/data_server_test.cc, short_of_memory_test.cc, transfer_test.cc.
class DataServer {
 public:
  virtual ~DataServer() = default;
  /// Returns the endpoint that fetchers connect to, "host:port".
  virtual std::string endpoint() const = 0;
  /// Changes what sends of a job are paced at: those that are under way at once, whatever they wait
  /// for, and those whose requests come later from their beginning. What is not newer than what is
  /// known of its attempt does nothing. Kept until the send of that attempt has ended well, or
  /// CancelJob. `set` is called once, from a thread of the data plane, when the sockets have it.
  virtual void SetRates(const std::string& job_id, std::vector<SendRate> rates,
                        std::function<void()> set) = 0;
  /// Breaks off all sends of a job, closes their connections and forgets its rates.
  virtual void CancelJob(const std::string& job_id) = 0;
  /// Counts over all connections, also those that have ended (but for what was on its way then).
  /// `counted` is called once, from a thread of the data plane; its queue_s is of the time since
  /// the call before.
  virtual void CountSegments(std::function<void(SegmentCounts)> counted) = 0;
  /// Stops listening and closes every connection. Nothing starts afterwards.
  virtual void Close() = 0;
  virtual DataServerCounters counters() const = 0;
};

}  // namespace weir::transfer
