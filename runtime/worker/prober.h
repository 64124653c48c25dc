#pragma once

// Probes of the network by order of the master: serves bytes that mean nothing, fetches them from a
// peer and measures. Upstream: WorkerDaemon (calls of the master, fences checked). Downstream: the
// data plane that jobs use, with the same congestion control, unpaced.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/rpc/api.h"
#include "runtime/worker/worker_options.h"
#include "runtime/worker/worker_seams.h"

namespace weir::worker {

/// Carries out the probe orders of one calibration at a time.
///
/// Received bytes are checked as those of a job and then dropped: a probe fills no disk.
/// Thread-safety: on the loop only. Ownership: Stop, or destroy it, before the data plane goes.
/// Failure semantics: serving ends by Stop, by another calibration, or when its time is over,
///   whether the master still lives or not.
/// Bounds: one block of disk; limits::kProbeBytesMax a probe, kProbeServe and kProbeFetch of time.
/// Checked by: tests/unit/worker/prober_test.cc.
class Prober {
 public:
  Prober(const WorkerSeams& seams) : seams_(seams) {}
  ~Prober() { Stop(); }
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  using Reply = rpc::Reply<v1::ProbeResponse>;

  /// A fetch of a later round (Fetch.round) ends what is left of earlier ones.
  /// Errors: kInvalidArgument (an order beyond the bounds), kAborted (an order that came late or
  ///   twice), what Storage and Fetcher say.
  void Take(v1::ProbeRequest request, const std::string& directory, Reply reply);
  /// Ends serving; fetches that run end with kCancelled.
  void Stop();

 private:
  struct Measuring;

  void Serve(const v1::ProbeRequest& request, const std::string& directory, Reply reply);
  void Fetch(const v1::ProbeRequest& request, Reply reply);
  absl::Status EnterRound(const v1::ProbeRequest::Fetch& fetch);
  void EndFetches(const std::string& why);
  void Count(Reply reply);
  void StartNextOrdered();
  void FetchOrdered(const std::shared_ptr<Measuring>& measuring);
  void NextRoundTrip(const std::shared_ptr<Measuring>& measuring);
  void FetchLong(const std::shared_ptr<Measuring>& measuring);
  void RemoveFile();

  const WorkerSeams seams_;
  std::string calibration_id_;  // being served or fetched for; empty: none
  std::string file_;
  std::optional<env::EventLoop::TimerId> serve_end_;
  // The latest round heard of, and the sources that were asked for in it.
  std::int32_t round_ = 0;
  absl::flat_hash_set<std::string> sources_of_round_;
  // Ordered fetches: those that wait for the line, and whether it is free for the next.
  std::deque<std::shared_ptr<Measuring>> waiting_;
  bool line_free_ = true;
  int num_ordered_ = 0;  // begun so far
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace weir::worker
