#pragma once

// The plan of a call, the same at every member because it depends on nothing else than what all of
// them know. Pure. Upstream: member. Downstream: planner/tree, member_program.

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"
#include "runtime/reduce/signature.h"

namespace weir::reduce {

/// What all members know after Join.
struct GroupFacts {
  std::int32_t size = 1;
  double seconds_per_byte = 0;
  double latency_s = 0;
  /// Transfers at once over all pairs; 0 = no such limit.
  std::int32_t channels = 0;
  double pacing_fraction = 0;
  /// Of a built-in operation, per byte of its result; that of the slowest member.
  double combine_s_per_byte = 0;
};

struct GroupPlan {
  planner::Plan plan;
  /// What may be on the way to a member beyond what it has received.
  std::int64_t window_bytes = 0;
  planner::Prediction prediction;
  /// Of everything that members carry out.
  std::uint32_t fingerprint = 0;
};

/// Bytes that senders may begin to send to a member before it has received what comes first: as
/// much as arrives while a grant is on its way and its sender wakes up. More lets senders that are
/// early share the port with the one that is due, and whoever waits for that one waits longer.
/// Pure. Checked by: tests/unit/reduce/group_plans_test.cc.
std::int64_t WindowBytes(const GroupFacts& facts);

/// Chooses the schedule of a call and plans it; CheckPlan and Predict have accepted it.
///
/// Model: one-port, full duplex, combining overlaps; the network of GroupFacts, where a limit of
///   channels is one cut over all pairs. Segments are at least kSegmentBytesMin long.
/// Errors: kInvalidArgument for an array whose bytes in all members are no number; those of the
///   planner.
/// Thread-safety: pure. Time: some ms, up to a few 100 ms for thousands of messages.
/// Checked by: tests/unit/reduce/group_plans_test.cc.
absl::StatusOr<std::shared_ptr<const GroupPlan>> MakeGroupPlan(const GroupFacts& facts,
                                                               const Signature& call,
                                                               const Operation& operation);

}  // namespace weir::reduce
