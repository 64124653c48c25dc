#pragma once

// The data plane between simulated workers: bytes move in virtual time, at the rate of the slower
// port or of their pacing, under the rules that the real one keeps. Upstream: worker daemons,
// through data_ends.h; SimWorker (processes that die, hang and go on). Downstream: sized files.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/transfer/data_server.h"
#include "runtime/transfer/fetcher.h"
#include "runtime/transfer/one_port.h"
#include "runtime/transfer/run_catalog.h"
#include "runtime/transfer/send_rates.h"
#include "tests/sim/sim_process.h"

namespace weir::sim {

/// Everything on its way between workers.
///
/// As the real one it admits of each job one ordered send and one ordered receive a worker, lets
/// one request of it wait in the tail of another send, refuses what is not published, falls silent
/// with a sender that hangs and breaks with one that dies. What it would have to refuse, and pieces
/// that overlap, are broken promises of the world: no plan grants them. Concurrent transfers, and
/// those of several jobs, do not slow each other down.
/// Thread-safety: none. Callbacks run on the loop of the receiver.
class DataPlane {
 public:
  explicit DataPlane(World& world);
  ~DataPlane();

  /// Both ends of one worker. Valid as long as the plane.
  class Port;
  Port& AddPort(SimProcess& process, const transfer::PublishedRuns& runs);
  /// As transfer::Fetcher and transfer::DataServer; all jobs where none is named.
  void Fetch(Port& receiver, transfer::FetchOrder order, transfer::Fetcher::NearlyDone nearly_done,
             transfer::Fetcher::Done done);
  void CancelFetches(Port& receiver, const std::string& job_id,
                     std::optional<std::int32_t> transfer = std::nullopt);
  void BreakSends(Port& sender, const std::string& job_id);
  void SetRates(Port& sender, const std::string& job_id,
                const std::vector<transfer::SendRate>& rates);
  static transfer::DataServerCounters SentBy(const Port& sender);
  static transfer::FetcherCounters FetchedBy(const Port& receiver);

  /// What the kernels of the others do when a process is gone. Its port is of no more use.
  void OnKilled(const SimProcess& process);
  void OnHung(const SimProcess& process);
  void OnGoesOn(const SimProcess& process);
  /// Hosts were parted, or hear each other again.
  void OnCutsChanged();

  /// Each transfer arrives damaged with probability `share`, which its receiver finds out.
  void SetDamage(double share) { damage_share_ = share; }
  /// Transfers that arrived damaged.
  std::int64_t damaged() const { return damaged_; }
  /// Transfers that a cut stopped or kept from beginning.
  std::int64_t stalled_in_cuts() const { return stalled_in_cuts_; }

  /// Jobs of which something is on its way to or from a worker.
  std::vector<std::string> JobsAt(const SimProcess& process) const;

 private:
  struct Move;
  using MovePtr = std::shared_ptr<Move>;
  template <typename Which>
  std::vector<MovePtr> MovesThat(Which which) const;
  Port* FindPort(const std::string& endpoint) const;

  void Serve(const MovePtr& move);
  absl::Status CheckRequest(const Move& move) const;
  void Begin(const MovePtr& move);
  void Flow(const MovePtr& move);
  static void Count(Move& move, std::int64_t bytes);
  // What flowed since it was counted last.
  void CountFlowed(Move& move);
  void Retime(const MovePtr& move, std::int64_t bytes_per_s);
  void OnMark(const MovePtr& move);
  void Arrive(const MovePtr& move);
  void Stall(const MovePtr& move);
  void StallInCut(const MovePtr& move);
  void GoOn(const MovePtr& move);
  bool IsCut(const Move& move) const;
  // Frees the sender's port for whoever waits there.
  void EndSend(Move& move);
  void Wake(Port& sender);
  template <typename Which>
  void BlameMaster(const Move& move, const char* what, const Port& port, Which which);
  void Refuse(const MovePtr& move, absl::Status why);
  void EndLater(const MovePtr& move, absl::Duration delay, absl::Status status);
  void End(const MovePtr& move, const absl::Status& status);
  transfer::FetchResult ResultOf(const Move& move) const;
  void Arm(const MovePtr& move, absl::Duration delay, env::Task task);
  static void Disarm(Move& move);

  World& world_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::map<std::string, Port*> present_;  // by endpoint, of its last life
  std::list<MovePtr> moves_;              // in the order of their fetches
  double damage_share_ = 0;
  std::int64_t damaged_ = 0;
  std::int64_t stalled_in_cuts_ = 0;
};

}  // namespace weir::sim
