#pragma once

// The receiving half of the data plane. Upstream: data servers of other workers. Downstream: files
// that reduce steps read. Made by MakeFetcher (data_plane.h).

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "runtime/base/limits.h"
#include "runtime/transfer/run_catalog.h"

namespace weir::transfer {

/// One granted transfer: a byte range of a run, and where it goes.
struct FetchOrder {
  JobKey key;
  std::int32_t transfer = 0;  // number in the job, by which Cancel names it
  std::int32_t attempt = 0;   // with the transfer, what DataServer::SetRates names its send by
  std::string peer_endpoint;  // host:port of the sender's data server
  std::string peer_name;      // the sender's worker name, for errors
  std::string run_id;
  std::int64_t offset = 0;  // in the run file
  std::int64_t bytes = 0;   // > 0
  /// Created when missing; the bytes are written at `destination_offset`.
  std::string destination_path;
  std::int64_t destination_offset = 0;
  /// Rate that the sender paces this transfer to; 0 = unpaced.
  std::int64_t pacing_bytes_per_s = 0;
  /// Marks, in bytes left, at which `nearly_done` is called; at most one call where they are equal.
  /// From the first on the sender takes the next request, which then waits for the end of this
  /// send; from the second on another fetch may begin here. grant_ahead_bytes >= look_ahead_bytes
  /// >= 0.
  std::int64_t grant_ahead_bytes = 0;
  std::int64_t look_ahead_bytes = 0;
  /// May run beside others at both ends (plan mode "fetch from all").
  bool concurrent = false;
  /// v1::Fence::plan_edit: breaks off an exclusive fetch of an earlier edit that is in the middle.
  std::int32_t plan_edit = 0;
  /// Measures instead of receiving: bytes count from `from` to `to` after the request, and the
  /// fetch ends well at `end` though bytes are left.
  struct ProbeWindow {
    absl::Duration from;
    absl::Duration to;
    absl::Duration end;
  };
  std::optional<ProbeWindow> probe;
};

struct FetchResult {
  std::int64_t bytes = 0;   // all that were asked for; of a probe those inside its window
  double seconds = 0;       // the whole time; of a probe the length of its window
  double first_byte_s = 0;  // from the request to the first byte
};

struct FetcherOptions {
  absl::Duration silence = limits::kTransferSilence;
  absl::Duration connect_timeout = limits::kCallTimeout;
  /// An unused connection is closed after this time; shorter than the server's, so that the server
  /// rarely closes one that is about to be used.
  absl::Duration idle = limits::kDataIdle / 2;
  std::int64_t credit_bytes = limits::kFetchCreditBytes;
};

/// Totals since start.
struct FetcherCounters {
  std::int64_t connections = 0;
  std::int64_t fetches = 0;         // completed
  std::int64_t fetches_failed = 0;  // refused, broken, silent or cancelled
  std::int64_t bytes = 0;           // verified and written
  double busy_s = 0;                // summed over fetches
};

/// Marks an error that the sender of a run told of itself; OK stays as it is.
inline absl::Status SaidBySender(absl::Status status) {
  status.SetPayload("weir/said-by-sender", absl::Cord());
  return status;
}
/// Whether a fetch ended because its sender could not read what it had published: its disk is to
/// blame, and no other fetch will do better.
inline bool SenderCannotRead(const absl::Status& status) {
  return absl::IsDataLoss(status) && status.GetPayload("weir/said-by-sender").has_value();
}

/// Notes on the error of a fetch how much of it had arrived and was verified.
inline absl::Status WithBytesBefore(absl::Status status, std::int64_t bytes) {
  if (bytes > 0) status.SetPayload("weir/bytes-before", absl::Cord(absl::StrCat(bytes)));
  return status;
}
/// What was noted; 0: nothing.
inline std::int64_t BytesBefore(const absl::Status& status) {
  const absl::optional<absl::Cord> noted = status.GetPayload("weir/bytes-before");
  std::int64_t bytes = 0;
  return noted && absl::SimpleAtoi(std::string(*noted), &bytes) ? bytes : 0;
}

/// Fetches byte ranges of runs from other workers, one of each job at a time.
///
/// Each frame is verified before it is written. Connections are kept and used again per peer.
/// Thread-safety: every method may be called from any thread; callbacks run on the event loop that
///   the fetcher was made with.
/// Bounds: one frame of memory a fetch; `credit_bytes` on the way.
/// Checked by: tests/unit/transfer/transfer_test.cc, short_of_memory_test.cc.
class Fetcher {
 public:
  /// Called with the mark that was passed.
  using NearlyDone = absl::AnyInvocable<void(std::int64_t bytes_left)>;
  using Done = absl::AnyInvocable<void(absl::StatusOr<FetchResult>)>;

  virtual ~Fetcher() = default;
  /// Starts a fetch. `nearly_done` (null = none) is called at most once a mark, before `done`;
  /// `done` exactly once. A connection that breaks before the first byte of an answer is replaced,
  /// once.
  ///
  /// Errors (all name peer, endpoint and run): kFailedPrecondition: another fetch of the job
  ///   has more left than its look-ahead, or the sender is busy with another receiver of it.
  ///   kUnavailable: not reachable, or the connection broke. kDeadlineExceeded: no byte for the
  ///   silence time. kDataLoss: a frame did not match its checksum, or SenderCannotRead. kNotFound,
  ///   kPermissionDenied, kAborted, kOutOfRange: refused by the sender. kResourceExhausted: disk
  ///   full here, no descriptors or memory at one end, or too many connections of the sender.
  ///   kCancelled: Cancel, CancelJob, Close, or a fetch of a later edit of the plan. After an error
  ///   the destination holds a prefix, of BytesBefore bytes.
  virtual void Fetch(FetchOrder order, NearlyDone nearly_done, Done done) = 0;
  /// Breaks off the fetch of this transfer, if it is under way; it ends with kCancelled.
  virtual void Cancel(const std::string& job_id, std::int32_t transfer) = 0;
  /// Breaks off the job's fetches, which end with kCancelled.
  virtual void CancelJob(const std::string& job_id) = 0;
  /// Breaks off all fetches and closes every connection; later fetches end with kCancelled.
  virtual void Close() = 0;
  virtual FetcherCounters counters() const = 0;
};

}  // namespace weir::transfer
