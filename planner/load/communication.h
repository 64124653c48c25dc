#pragma once

// What the communication schedule of one layer is made from and of: demand in, timed pieces out.
// Upstream: layer loads. Downstream: wheel.h, matching_schedule.h, longest_remaining.h,
// interval_program.h, schedule_layer.h, plan_pieces.h.

#include <cstdint>
#include <vector>

#include "planner/plan/units.h"

namespace weir::planner::load {

/// What every sender has for every receiver, and from when on.
///
/// Model: sender j may send from release[j]; pair (j, k) needs send_time[j][k] of one channel; one
///   send and one receive at a time per port; at most `channels` pairs at once.
/// Symbols: release = t_1 .. t_n, send_time = C g x_j delta_k, channels = l (004, section 4.3). Any
///   unit of time.
struct ShuffleDemand {
  std::vector<double> release;
  std::vector<std::vector<double>> send_time;
  std::int32_t channels = 1;

  std::int32_t num_senders() const { return static_cast<std::int32_t>(release.size()); }
  std::int32_t num_receivers() const {
    return send_time.empty() ? 0 : static_cast<std::int32_t>(send_time[0].size());
  }
};

/// One uninterrupted transfer of a pair over one channel.
struct Piece {
  std::int32_t sender = 0;
  std::int32_t receiver = 0;
  double begin = 0;
  double end = 0;
};

/// Joins pieces of a pair that touch (closer than `tolerance`) and sorts by begin, then sender.
/// Loses no time.
std::vector<Piece> MergeTouching(std::vector<Piece> pieces, double tolerance);

/// How far a schedule is from what it must be. All zero (to rounding) when it is right.
struct ScheduleFault {
  /// Largest |time of all pieces of a pair - demand|; infinite when a piece ends before it begins,
  /// or at no time.
  double demand = 0;
  /// Largest overlap of two pieces on one port.
  double port_overlap = 0;
  /// Largest number of pieces at once beyond the channels.
  std::int32_t channels_over = 0;
  /// Largest start of a piece before its sender's release.
  double early = 0;
};

/// Checks a schedule against its demand, knowing nothing of how it was made.
///
/// Symbols: pieces shorter than `grain` and overlaps in time below it are rounding when channels
///   are counted.
ScheduleFault CheckSchedule(const ShuffleDemand& demand, const std::vector<Piece>& pieces,
                            double grain);

}  // namespace weir::planner::load
