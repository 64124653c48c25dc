#pragma once

// Collectives that leave their result everywhere, as planner::Plan.
// Upstream: spreading. Downstream: CheckPlan, Predict, runtime/reduce.

#include "absl/status/statusor.h"
#include "planner/plan/plan.h"
#include "planner/tree/choice/spreading.h"

namespace weir::planner::tree {

/// Returns a whole plan of one broadcast or all-reduce, in strict order with predicted times: a map
/// step without duration per machine, then one transfer and one kCombine step on its receiver per
/// message, as ReductionPlan has them. A step that only keeps what it gets takes no time; a message
/// of several runs, or of one that wraps around the last segment, is joined and cut as there.
///
/// Sections: places of the whole element, the sections of a combine step in the order of its
///   operands (the partial with the lower machine stands left).
/// Errors: kInvalidArgument naming element_bytes, place_bytes, a field of the network, or a message
///   that sends what its machine does not hold.
/// Thread-safety: pure. Time: O(messages * segments per message + messages log).
/// Checked by: tests/unit/planner_tree/spreading_test.cc.
absl::StatusOr<Plan> SpreadingPlan(const SpreadingSchedule& collective, const NetworkModel& network,
                                   Bytes element_bytes, Bytes place_bytes);

}  // namespace weir::planner::tree
