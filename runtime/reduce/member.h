#pragma once

// One member of a group: its connections, its plans, and what it hears from the others between and
// during calls. Upstream: Group. Downstream: member_call, mesh.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "planner/explain/explain.h"
#include "runtime/reduce/combine_thread.h"
#include "runtime/reduce/frames.h"
#include "runtime/reduce/group_plans.h"
#include "runtime/reduce/member_program.h"
#include "runtime/reduce/mesh.h"

namespace weir::reduce {

/// A call's plan and this member's part of it.
struct PlannedCall {
  std::shared_ptr<const GroupPlan> plan;
  MemberProgram program;
};

/// What came back on the connections to the other members.
///
/// Thread-safety: the caller's thread.
class Answers {
 public:
  Answers(Mesh& mesh, std::int32_t rank);

  struct Answer {
    FrameHeader header;
    std::string body;
  };

  /// Reads what `peer` has answered so far.
  /// Errors: kUnavailable when the connection ended without a goodbye; kDataLoss.
  absl::StatusOr<std::vector<Answer>> Read(std::int32_t peer);
  /// Queues a frame for `peer` and sends what goes.
  void Write(std::int32_t peer, const std::string& frame);
  /// Sends on; true while something is left.
  bool Flush(std::int32_t peer);
  bool left(std::int32_t peer) const { return left_[static_cast<std::size_t>(peer)]; }

 private:
  Mesh& mesh_;
  std::vector<std::string> read_;
  std::vector<std::string> unsent_;
  std::vector<bool> left_;
};

/// Times of one call as this member saw them, seconds from its start.
struct CallTrace {
  planner::ActualRun run;
  double duration_s = 0;
};

class Member {
 public:
  Member(const GroupFacts& facts, std::int32_t rank, std::vector<std::string> endpoints, Mesh mesh,
         absl::Duration call_timeout);
  ~Member();

  /// Carries out one call. `data` holds call.count elements.
  /// Errors: as Group says; all later calls end with the same.
  absl::Status Call(Signature call, void* data, const Operation& operation);
  /// Plans such a call and keeps the plan.
  absl::Status Prepare(Signature call, const Operation& operation);

  std::int32_t rank() const { return rank_; }
  std::int32_t size() const { return facts_.size; }
  /// Of the last call; null before the first.
  const PlannedCall* last_call() const { return last_.get(); }
  const CallTrace& last_trace() const { return trace_; }

 private:
  friend class MemberCall;

  absl::StatusOr<std::shared_ptr<const PlannedCall>> PlanOf(Signature& call,
                                                            const Operation& operation);
  absl::Status CheckCall(const Signature& call, const Operation& operation) const;
  /// Ends the group here, and tells the others.
  absl::Status Break(absl::Status why);
  std::string NameOf(std::int32_t peer) const;
  absl::Status Differs(std::int32_t peer, const Signature& theirs, const Signature& ours) const;

  const GroupFacts facts_;
  const std::int32_t rank_;
  const std::vector<std::string> endpoints_;
  Mesh mesh_;
  Answers answers_;
  const absl::Duration call_timeout_;
  CombineThread combine_;
  absl::Status broken_;
  std::uint64_t calls_ = 0;
  /// Grants and inquiries of calls that this member has not begun.
  std::vector<std::pair<std::int32_t, FrameHeader>> early_;
  /// Of the last calls, newest last.
  std::deque<Signature> history_;
  /// By signature without the schedule, and when each was used last.
  std::map<Signature, std::pair<std::shared_ptr<const PlannedCall>, std::uint64_t>> plans_;
  /// Memory of messages that wait to be combined, for the next ones.
  std::vector<std::vector<char>> spare_;
  /// By peer: bytes that wake this member up, as its socket was told last.
  std::vector<int> gathers_;
  std::shared_ptr<const PlannedCall> last_;
  CallTrace trace_;
};

}  // namespace weir::reduce
