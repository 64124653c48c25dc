#pragma once

// One member's part of a plan: what it receives, combines and sends, in which order. Pure.
// Upstream: GroupPlan. Downstream: member_call.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/plan/plan.h"

namespace weir::reduce {

struct MemberProgram {
  /// Part of a received range that meets what the member holds.
  struct Fold {
    std::int64_t begin = 0;  // places
    std::int64_t end = 0;
    /// What is held stands left of what came.
    bool held_left = true;
  };
  struct Receive {
    planner::TransferIndex transfer = 0;
    std::int32_t peer = 0;
    std::int64_t begin = 0;  // places
    std::int64_t end = 0;
    /// Bytes of the receives before this one.
    std::int64_t bytes_before = 0;
    /// Empty: it is kept as it comes, in place.
    std::vector<Fold> folds;
  };
  struct Send {
    planner::TransferIndex transfer = 0;
    std::int32_t peer = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    /// Steps of this member that are done before it may begin.
    std::int32_t after_steps = 0;
    /// Within the receiver's window from the start.
    bool granted = false;
  };
  struct Step {
    planner::StepIndex step = 0;
    double duration_s = 0;
    /// Positions in `receives`.
    std::vector<std::int32_t> receives;
  };
  std::vector<Receive> receives;  // in the order of the port
  std::vector<Send> sends;        // in the order of the port
  std::vector<Step> steps;        // in the order of computing, without those that make elements
  std::int64_t place_bytes = 1;
  /// Bytes that may be on the way to a member beyond what it has received: what its senders may
  /// begin without being told.
  std::int64_t window_bytes = 0;
};

/// Returns the part of worker `rank`.
///
/// Model: the member holds one array in which everything happens in place: a place that it has sent
///   is either never read again, or received again complete.
/// Requires: CheckPlan accepts the plan; its sections have indexes.
/// Errors: kInternal naming the step that a member cannot carry out.
/// Checked by: tests/unit/reduce/member_program_test.cc.
absl::StatusOr<MemberProgram> ProgramOf(const planner::Plan& plan, std::int32_t rank,
                                        std::int64_t place_bytes, std::int64_t window_bytes);

}  // namespace weir::reduce
