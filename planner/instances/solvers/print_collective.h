#pragma once

// Result fields of algorithms whose result is a schedule.
// Upstream: solve_instances, solve_*.cc. Downstream: JSON.

#include "planner/instances/solvers/instance_fields.h"
#include "planner/tree/model/timed_tree.h"
#include "planner/tree/write/collective.h"

namespace weir::planner::tree {

/// Schedules with more messages than this are printed without them.
inline constexpr std::size_t kPrintedMessagesMax = 1000;

/// Returns makespan, method, segments, keeps_order (with order_refusal, the reason, when it does
/// not) and, where they are few, messages in order: segment, sender, receiver and start, all from
/// 0.
ResultJson PrintCollective(const Collective& collective);

/// Returns makespan and, up to kPrintedMessagesMax machines, child and start of machines 2..n.
ResultJson PrintTree(const TimedTree& tree);

}  // namespace weir::planner::tree
