#pragma once

// How long a report and the grant that answers it are on their way. Pure. Upstream: ConductorRun.
// Downstream: OrderBuilder, which has nearly done transfers reported that much earlier.

#include <algorithm>

namespace weir::master {

/// Follows the round trips of one worker's grants: a grant and its answer take the same ways as the
/// next grant and the report before it, through the same queues of a busy network.
///
/// Weighted so that a few grants settle it and one that was held up does not carry it away. One a
/// worker, because behind the queue of a slow port everything is late.
/// Thread-safety: none. Checked by: tests/unit/master/grant_delay_test.cc.
class GrantDelay {
 public:
  void Observe(double round_trip_s) {
    const double bounded_s = std::min(std::max(round_trip_s, 0.0), kMostS);
    seconds_ = observed_ ? seconds_ + (bounded_s - seconds_) * kWeight : bounded_s;
    observed_ = true;
  }
  /// Seconds; 0 before the first round trip is known.
  double seconds() const { return seconds_; }

 private:
  static constexpr double kWeight = 0.125;
  // A worker that stood still says nothing of the way to it.
  static constexpr double kMostS = 0.02;

  double seconds_ = 0;
  bool observed_ = false;
};

}  // namespace weir::master
