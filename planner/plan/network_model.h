#pragma once

// What the planner knows of the network: ports, one channel rate, and cuts that bound concurrency.
// Upstream: measurement or flags. Downstream: every plan builder, CheckPlan, Predict.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "planner/plan/units.h"

namespace weir::planner {

/// A set of ordered worker pairs whose concurrent transfers share `channels` full-rate channels:
/// the rates of the transfers that cross never add up to more.
///
/// Model: the pair (a, b), a != b, crosses the cut when from[a] and to[b]. One limited total is one
///   cut with all workers on both sides; a rack is one cut up (rack -> rest) and one down (rest ->
///   rack).
/// Symbols: channels = l of the source document (004, section 2), dimensionless, >= 1.
struct Cut {
  std::string name;
  std::vector<bool> from;  // one entry a worker
  std::vector<bool> to;    // one entry a worker
  std::int32_t channels = 1;

  bool Crosses(WorkerIndex sender, WorkerIndex receiver) const {
    return from[static_cast<std::size_t>(sender)] && to[static_cast<std::size_t>(receiver)];
  }
};

/// The network between the workers of one plan.
///
/// Model: one port per worker and direction (one-port model); a transfer of b bytes from s to d
///   takes OrderedStartSeconds() + b * PacedSecondsPerByte(s, d); for all of that time it holds the
///   send port of s, the receive port of d and, of every cut that it crosses, its rate's part of a
///   channel: all of one at full rate, 1 / slow-down of one where a port is slow, in whole lanes
///   (cut_lanes.h).
struct NetworkModel {
  std::int32_t num_workers = 0;
  /// C of 004: seconds per byte of one channel between two full-rate ports. >= 0.
  double seconds_per_byte = 0;
  /// Start-up time of one transfer, seconds. >= 0.
  Seconds latency_s = 0;
  /// Slow-down of each worker's port: 1 = full rate, 4 = a quarter of the rate. Empty means all 1;
  /// else one entry a worker, >= 1. A pair runs at the rate of its slower port.
  std::vector<double> port_slowdown;
  /// How many times longer the transfers of each port take than that, as a run has found: 1 = no
  /// longer. It is a guess, so they are paced as before and take no less of a cut. Empty means all
  /// 1; else one entry a worker, >= 1.
  std::vector<double> port_lag;
  std::vector<Cut> cuts;
  /// Share of its pair's rate that an ordered transfer is paced at: it leaves room for headers and
  /// clocks, so that queues stay empty and nothing is lost. 0 = unpaced. Plans whose receivers
  /// fetch from all share the full rates instead.
  double pacing_fraction = 0;
  /// Share of a port's and a cut's rate that transfers get together which share it without an
  /// order: flows that meet in a queue lose packets and wait for each other. 0 = all of it.
  double sharing_fraction = 0;
  /// The same of a cut, where it was measured apart from ports: more flows meet in its queue. 0 =
  /// sharing_fraction.
  double cut_sharing_fraction = 0;
  /// Part of all segments that were sent again while all workers fetched from all others at once.
  /// 0 = none, or not known.
  double sharing_resent_fraction = 0;
  /// Idle line between two transfers of a port in an order: what a grant, a request, its first byte
  /// and the wait for the other end's port take together, less what of it is hidden by granting
  /// ahead. 0 = not known: latency_s.
  Seconds transfer_gap_s = 0;

  /// Seconds per byte of the pair: channel cost times the larger of what its two ports take.
  double SecondsPerByte(WorkerIndex sender, WorkerIndex receiver) const;

  /// The same without what a run has found of its ports: what a sender is paced by.
  double NominalSecondsPerByte(WorkerIndex sender, WorkerIndex receiver) const;

  /// The same of an ordered transfer, which is paced.
  double PacedSecondsPerByte(WorkerIndex sender, WorkerIndex receiver) const;

  /// Bytes per second that paced transfers which share a port, or a cut, may take of it together:
  /// its rate times the pacing fraction. What a run has found of ports makes no difference.
  /// Requires: seconds_per_byte > 0.
  double PacedBytesPerS(WorkerIndex port) const;
  double PacedBytesPerS(const Cut& cut) const;

  /// How many times longer a pair takes by what a run has found of its ports: 1 or more.
  /// Requires: seconds_per_byte > 0.
  double Lag(WorkerIndex sender, WorkerIndex receiver) const {
    return SecondsPerByte(sender, receiver) / NominalSecondsPerByte(sender, receiver);
  }

  /// What one ordered transfer takes beside its bytes: transfer_gap_s, or latency_s where no gap is
  /// known.
  Seconds OrderedStartSeconds() const { return transfer_gap_s > 0 ? transfer_gap_s : latency_s; }

  /// Share of a cut's rate that transfers get together which share it without an order; 1 = all.
  double CutSharing() const {
    const double fraction = cut_sharing_fraction > 0 ? cut_sharing_fraction : sharing_fraction;
    return fraction > 0 ? fraction : 1;
  }

  /// Time of one ordered transfer: OrderedStartSeconds plus bytes at the paced rate of the pair.
  Seconds TransferSeconds(WorkerIndex sender, WorkerIndex receiver, Bytes bytes) const;
};

/// Returns a network with one limited total: one cut over all pairs with `channels` channels (the
/// bisection limit l).
NetworkModel LimitedTotal(std::int32_t num_workers, double seconds_per_byte, std::int32_t channels);

/// Returns the index of every cut that the pair crosses, in the order of `network.cuts`.
std::vector<std::int32_t> CutsCrossed(const NetworkModel& network, WorkerIndex sender,
                                      WorkerIndex receiver);

/// Checks sizes and ranges.
/// Errors: kInvalidArgument naming field, value and legal range.
absl::Status CheckNetwork(const NetworkModel& network);

}  // namespace weir::planner
