#pragma once

// When each transfer of one shuffle moves, where it is too large to be matched anew at each event.
// Upstream: order_by_slack. Downstream: nothing.

#include <cstdint>
#include <vector>

#include "planner/order/slack_schedule.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Most pairs of workers that DispatchBySlack has a table for: 2000 workers.
inline constexpr std::int64_t kDispatchPairsMax = 4'000'000;

/// Returns about what DispatchBySlack costs, in the unit of SlackSchedule::work.
std::int64_t DispatchWork(std::size_t num_transfers, std::int32_t num_workers);

/// Schedules `transfers`, the ones of one layer, whole: none is cut, none is interrupted.
///
/// Model: a dispatching rule. Whenever ports or lanes are free, the transfer starts whose resources
///   have least slack (ScheduleBySlack says what that is; each weighs exp(-slack / scale)), and so
///   on until none fits. Workers that stand behind the same cuts form a class: first the classes
///   are chosen whose cuts are urgent, then a sender and a receiver in them, so that in a network
///   of racks a decision costs racks + hosts of a rack, not all pairs. Latency counts. No port
///   waits while there is something that it can do: no schedule of the list rule ends later than
///   twice the bound without cuts, and nothing better is proven.
/// Uses of the tuning: scale, noise (of a port's weight), seed; `whole` and others have no meaning
///   here.
/// Requires: as ScheduleBySlack; num_workers^2 <= kDispatchPairsMax.
/// Returns: the pieces in order of their ends, one a transfer. Thread-safety: pure; same input,
///   same schedule.
/// Time: some O(transfers * (classes + hosts of a class)); 250 000 transfers of 500 workers in
///   about a second.
/// Source: the rule "minimum slack first" of M. Pinedo, "Scheduling: theory, algorithms, and
///   systems", on open shops with additional resources.
/// Checked by: tests/unit/planner_plan/slack_dispatch_test.cc; tests/bench/order.
SlackSchedule DispatchBySlack(const Plan& plan, std::vector<TransferIndex> transfers,
                              const std::vector<Seconds>& step_finish_s, const SlackTuning& tuning);

}  // namespace weir::planner
