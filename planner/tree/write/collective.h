#pragma once

// A planned reduction, broadcast or all-reduce together with the model that it was planned in: what
// becomes a picture or a Plan. Upstream: planner/instances/solvers. Downstream: planner::Plan,
// tree_drawing.

#include <vector>

#include "absl/status/statusor.h"
#include "planner/plan/network_model.h"
#include "planner/plan/plan.h"
#include "planner/tree/model/schedule.h"
#include "planner/tree/speeds/broadcast.h"
#include "planner/tree/speeds/earliest_possible.h"

namespace weir::planner::tree {

/// Broadcast from the reduction's root, or from machine 0 of a collective without messages.
struct Spread {
  SpreadSchedule schedule;
  /// Time of one message of each machine, the source first.
  std::vector<Seconds> times;
  /// When it begins.
  Seconds begin_s = 0;
};

struct Collective {
  Schedule reduction;
  PortModel ports;
  /// When each machine's element is ready; empty = all 0.
  std::vector<Seconds> ready_s;
  std::int64_t max_transfers = kNoTransferLimit;
  /// Used when `spread.times` is not empty: other i is machine i + 1.
  Spread spread;
  /// Cuts of the plan's network, beside the one of max_transfers; machine i is worker i.
  std::vector<Cut> cuts = {};

  bool spreads() const { return !spread.times.empty(); }
};

/// Returns when the last machine has what it should: end of the broadcast, else of the reduction.
Seconds CollectiveMakespan(const Collective& collective);

/// Returns all messages as one schedule, broadcast last, for a Gantt.
Schedule AllMessages(const Collective& collective);

/// Returns how many messages of the reduction wrap around its last segment.
std::int64_t WrappingMessages(const Schedule& reduction);

/// Most messages of a collective that becomes a plan.
inline constexpr std::int64_t kPlanMessagesMax = std::int64_t{1} << 19;

/// Returns the collective as a plan in strict order whose prediction is the planned makespan.
///
/// Exception: a message that wraps around the last segment (reduce_scatter.h) travels as two
///   transfers, each with the network's latency. Such a plan is predicted no shorter than planned,
///   and later by at most WrappingMessages() latencies; summary.notes says so.
///
/// Model: every message becomes a transfer and a kCombine step (tree_plan.h). The network's latency
///   and rate are those of the cheapest message; a limit on transfers is a cut over all pairs. What
///   a message costs beyond the network (003: each sender's own time, combining included) is time
///   of its step. A Plan's ports are full duplex, overlap computing, and are held by latency: where
///   the collective was planned for machines that can do less, with other costs or release dates,
///   every step is held until its planned start, and summary.notes says so.
/// Errors: kInvalidArgument naming the number of messages above kPlanMessagesMax.
/// Thread-safety: pure. Time: O(messages log).
/// Checked by: tests/unit/planner_tree/every_algorithm_test.cc.
absl::StatusOr<Plan> CollectivePlan(const Collective& collective);

}  // namespace weir::planner::tree
