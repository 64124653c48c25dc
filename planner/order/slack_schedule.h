#pragma once

// When each transfer of one shuffle moves, if whatever limits the shuffle is never to be idle while
// it has work. Upstream: order_by_slack, which tries several tunings. Downstream: assignment.

#include <cstdint>
#include <vector>

#include "planner/plan/plan.h"

namespace weir::planner {

/// How one try weighs transfers and cuts them.
struct SlackTuning {
  double scale = 0.1;  // of slack, in shuffle bounds
  /// A transfer that has begun goes on to its end. Otherwise who moves is decided anew each
  /// `quantum` (in shuffle bounds), those that move weighing `staying` of their weight more.
  bool whole = false;
  double quantum = 1.0 / 24;
  double staying = 0.1;
  /// Weights are raised by up to this part of themselves, by chance. A little is always needed, so
  /// that prices of cuts part equal transfers one by one.
  double noise = 1e-3;
  std::uint64_t seed = 0;
};

/// A piece of a transfer as scheduled.
struct ScheduledPiece {
  TransferIndex transfer = 0;
  Seconds start_s = 0;
  Seconds duration_s = 0;
};

struct SlackSchedule {
  std::vector<ScheduledPiece> pieces;  // in order of their ends
  /// What it cost: steps of assignments, some workers^3 each; 6e8 to 1e9 of them take a second.
  std::int64_t work = 0;
};

/// Schedules `transfers`, the ones of one layer.
///
/// Model: event by event. The slack of a port or cut is what is left of the layer's bound (volume
///   over rate after every release, plus the work of the reducer behind a receive port) when it
///   works without a pause from now on. At each event the transfers that run are an assignment of
///   senders to receivers of greatest weight, each resource weighing exp(-slack / scale); cuts
///   enter by prices of their lanes (cut_lanes.h), raised until no more are taken than there are.
/// Requires: step_finish_s of every producer, seconds; network, steps and transfers of the plan
///   are sound. Thread-safety: pure; same input, same schedule.
/// Time: O(events * workers^3); see `work`.
/// Checked by: tests/unit/planner_plan/order_by_slack_test.cc.
SlackSchedule ScheduleBySlack(const Plan& plan, std::vector<TransferIndex> transfers,
                              const std::vector<Seconds>& step_finish_s, const SlackTuning& tuning);

}  // namespace weir::planner
