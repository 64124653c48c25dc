#pragma once

// PortRates as its header says, by looking at every transfer and every port each time. Slow, and
// the oracle of straggler_watch_scan_test.cc.

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "planner/plan/plan.h"
#include "runtime/master/stragglers/port_rates.h"

namespace weir::master {

class ScanningPorts {
 public:
  using Port = PortRates::Port;

  explicit ScanningPorts(const planner::Plan& plan);

  void Observe(const RunSoFar& run);
  const Port& sender(planner::WorkerIndex worker) const { return ports_[planner::At(worker)].port; }
  const Port& receiver(planner::WorkerIndex worker) const {
    return ports_[num_workers_ + planner::At(worker)].port;
  }
  /// Goes on with an edited plan, whose network says what was measured so far.
  void TakeEdit(const planner::Plan& plan, absl::Span<const planner::TransferIndex> transfer_was);

 private:
  /// Transfers of one port that follow each other and are slow, or fast, alike.
  struct Row {
    int count = 0;
    planner::WorkerIndex peer = planner::kNoIndex;  // of the first
    bool several_peers = false;
    planner::Seconds planned_s = 0;
    planner::Seconds took_s = 0;

    void Add(planner::WorkerIndex peer, planner::Seconds planned_s, planner::Seconds took_s);
  };
  struct Known {
    Port port;
    Row slow, fast;
    planner::Seconds planned_s = 0, took_s = 0;  // of its transfers, the last counting most

    double rate() const { return planned_s / took_s; }  // once took_s > 0
    /// At least so fast, beside the plan: the least that `rate` and what is under way say. For the
    /// pace of the others.
    std::optional<double> least;
  };

  void Count(const planner::Transfer& transfer, planner::Seconds planned_s,
             planner::Seconds took_s);
  void CountAt(Known& port, planner::WorkerIndex peer, planner::Seconds planned_s,
               planner::Seconds took_s);
  /// One under way for longer than it should be.
  struct Late {
    const planner::Transfer* transfer = nullptr;
    planner::Seconds planned_s = 0;
    planner::Seconds took_s = 0;
  };
  bool IsLate(const Late& moving);
  /// `late_at`: how many are late, by worker.
  void Blame(const Late& late, const std::vector<int>& late_at);
  void FindLeast(const RunSoFar& run, const std::vector<std::size_t>& under_way);
  /// Of the ports but these two; nothing while nothing is known of any.
  std::optional<double> PaceBeside(const Known& one, const Known& other) const;
  Known& SenderOf(const planner::Transfer& transfer);
  Known& ReceiverOf(const planner::Transfer& transfer);
  // Both without the latency, which is no rate.
  planner::Seconds PlannedSeconds(const RunSoFar& run, std::size_t transfer) const;
  planner::Seconds SecondsSince(const RunSoFar& run, std::size_t transfer) const;

  const planner::Plan* plan_;
  const std::size_t num_workers_;
  std::vector<Known> ports_;   // senders, then receivers
  std::vector<bool> counted_;  // by transfer: done, and its ports know
};

}  // namespace weir::master
