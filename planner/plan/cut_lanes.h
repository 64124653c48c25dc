#pragma once

// What part of a channel a transfer takes of the cuts that it crosses. Upstream: network_model.
// Downstream: whoever orders, checks, bounds, grants or draws transfers through cuts.

#include <cstdint>
#include <vector>

#include "planner/plan/network_model.h"

namespace weir::planner {

/// Most lanes of a channel. More would follow odd slow-downs closer, but each full-rate transfer
/// stands in the orders of all lanes of a channel.
inline constexpr std::int32_t kLanesMax = 8;

/// The lanes of a network's cuts.
///
/// Each channel is split into k lanes of equal rate. A transfer takes as many as carry the rate of
/// its pair, rounded up, of every cut that it crosses: a pair of slow-down s max(1, ceil(k / s)),
/// one at full rate all k of a channel. Any lanes of the cut will do. So the rates of what crosses
/// never add up to more than the channels (beyond 1e-9 of one, by which a slow-down may be off),
/// and what rounding takes too much is lost.
/// Model: the smallest k <= kLanesMax for which least of a channel lies idle beside the port that
///   loses most, ceil(k / s) / k - 1 / s. So k = 1 where no port is slow. It depends on the
///   slow-downs alone, so a plan need not say it. One slow-down loses at most 1/8 of a channel
///   (just above 1, and towards infinity), at most 1/14 from 8/7 to 18; several may lose more.
/// Requires: CheckNetwork is OK. Thread-safety: immutable. O(workers) time and memory.
/// Example: slow-downs {1, 1, 4}: k = 4; transfers of worker 2 take one lane, a quarter of a
///   channel, the others four.
/// Checked by: tests/unit/planner_plan/cut_lanes_test.cc.
class CutLanes {
 public:
  explicit CutLanes(const NetworkModel& network);

  /// k.
  std::int32_t per_channel() const { return per_channel_; }
  /// Lanes that a transfer of this port takes when its other port is no slower.
  std::int32_t OfPort(WorkerIndex worker) const {
    return of_port_[static_cast<std::size_t>(worker)];
  }
  /// Lanes that a transfer takes of each cut that it crosses, 1 to k.
  std::int32_t Taken(WorkerIndex sender, WorkerIndex receiver) const {
    return OfPort(sender) < OfPort(receiver) ? OfPort(sender) : OfPort(receiver);
  }
  /// The same in channels, above 0 and at most 1.
  double ChannelsTaken(WorkerIndex sender, WorkerIndex receiver) const {
    return static_cast<double>(Taken(sender, receiver)) / per_channel_;
  }
  /// The least that any transfer takes.
  std::int32_t least_taken() const { return least_taken_; }
  /// All lanes of a cut.
  std::int64_t Of(const Cut& cut) const { return std::int64_t{per_channel_} * cut.channels; }

 private:
  std::int32_t per_channel_ = 1;
  std::int32_t least_taken_ = 1;
  std::vector<std::int32_t> of_port_;
};

}  // namespace weir::planner
