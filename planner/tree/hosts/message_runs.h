#pragma once

// Which partial results every message of a schedule carries and meets.
// Upstream: any Schedule. Downstream: host_times, tree_plan.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// Maker of a run that is the machine's own element.
inline constexpr std::int32_t kOwnElement = -1;

/// Segments [segment_begin, segment_end) of one partial result on one machine.
struct SegmentRun {
  /// Message whose combining made it, or kOwnElement.
  std::int32_t maker = kOwnElement;
  std::int32_t segment_begin = 0;
  std::int32_t segment_end = 0;
  /// Held by a receiver: its operands stand left of those that arrive.
  bool left = false;
};

/// What a message carries and what its receiver holds of the same segments, both in the order of
/// the message's range; a range that wraps around is cut at the last segment.
struct MessageRuns {
  std::vector<SegmentRun> sent;
  std::vector<SegmentRun> held;
};

/// One entry a message, and what the root holds at the end.
struct RunList {
  std::vector<MessageRuns> of_message;
  std::vector<SegmentRun> results;
};

/// Follows who holds which segments through the schedule.
///
/// Model: machine i holds operand i; of two partials the one with the lower operand stands left,
///   which is their order wherever the schedule keeps it (CheckOrderPreserved).
/// Symbols: spreads = true where a message copies what its sender keeps, one entry a message; empty
/// =
///   a reduction, where none does. With copies the results stay empty.
/// Errors: kInvalidArgument naming the message, when a machine or segment does not exist, a machine
///   sends what it does not hold, or the root of a reduction lacks operands at the end.
/// Thread-safety: pure. Time: O(messages * segments per message).
/// Checked by: tests/unit/planner_tree/tree_plan_test.cc, family_plans_test.cc.
absl::StatusOr<RunList> FollowRuns(const Schedule& schedule, const std::vector<bool>& spreads = {});

}  // namespace weir::planner::tree
