#pragma once

// Numbers of the gRPC carrier, each with its reason. Time-outs of calls are in methods.h.

#include <grpc/support/time.h>

#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"
#include "runtime/base/limits.h"

namespace weir::rpc {

/// A silent peer shows after 5 s + 3 s, inside the 10 s in which everything ends. The server allows
/// pings twice as often, so that jitter is not an offence.
inline constexpr absl::Duration kKeepaliveTime = absl::Seconds(5);
inline constexpr absl::Duration kKeepaliveTimeout = absl::Seconds(3);
inline constexpr absl::Duration kPingIntervalMin = absl::Milliseconds(2500);
/// A restarted master is found again within a second.
inline constexpr absl::Duration kReconnectMin = absl::Milliseconds(100);
inline constexpr absl::Duration kReconnectMax = absl::Seconds(1);
/// One try to connect, TLS handshake included.
inline constexpr absl::Duration kConnectTimeout = absl::Seconds(5);
/// The same at the server: first words of whoever connected.
inline constexpr absl::Duration kServerHandshake = kConnectTimeout;
/// A call without deadline, or with one far off, is answered by then, unless its method's row has a
/// longer time.
inline constexpr absl::Duration kServerCallMax = absl::Seconds(60);
/// Calls still under way when a server closes get this long to leave.
inline constexpr absl::Duration kServerCloseGrace = absl::Milliseconds(500);
/// Trailers: a JobError has 4 KiB of stderr, paths up to 4 KiB and two sentences.
inline constexpr std::size_t kStatusDetailBytesMax = 16 << 10;
inline constexpr std::size_t kStatusMessageBytesMax = 4 << 10;
inline constexpr int kMetadataBytesMax = 64 << 10;
/// Memory of all messages that a server holds undelivered.
inline constexpr std::size_t kServerMemoryBytes = std::size_t{512} << 20;
/// A slow receiver of a stream skips messages in between, never the last.
inline constexpr std::size_t kStreamQueuedMax = 64;
// So no piece of a plan is skipped: no message has 2 GiB.
static_assert(kStreamQueuedMax * limits::kPlanPieceBytes >= std::size_t{1} << 31);

/// Returns the moment `timeout` from now on gRPC's own clock.
inline gpr_timespec DeadlineAfter(absl::Duration timeout) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(absl::ToInt64Nanoseconds(timeout), GPR_TIMESPAN));
}

}  // namespace weir::rpc
