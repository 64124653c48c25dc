#pragma once

// Broadcast between machines of different speeds, and all-reduce (003, section 5.2).
// Upstream: selection, instance files. Downstream: SpreadSchedule.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {

/// A broadcast from the source to others 0..m-1.
struct SpreadSchedule {
  /// In order of arrival: who is informed, by whom (kNoMachine = the source), and when the message
  /// starts.
  std::vector<MachineIndex> informed;
  std::vector<MachineIndex> sender;
  std::vector<Seconds> start_s;
  Seconds makespan_s = 0;
};

/// Sends to the fastest uninformed machine first, always from the machine that would finish first;
/// ties by age.
///
/// Model: a message of machine i takes t_i; sender and receiver do nothing else.
/// Bounds: at most 1.5 times the optimum from the fastest source (Khuller and Kim), 2 times from
///   any.
/// Errors: kInvalidArgument naming source or others[i].
/// Source: 003, section 5.2.
/// Example: source 1, others 2, 3, 4 -> 3.
absl::StatusOr<SpreadSchedule> FastestNodeFirst(Seconds source, const std::vector<Seconds>& others);

/// Most other machines, and most states, of the exact broadcast.
inline constexpr std::int64_t kExactBroadcastMax = 20;
inline constexpr std::int64_t kExactBroadcastStatesMax = 1'000'000;

/// Returns the length of the best broadcast. Slots in time order are always used (an exchange
/// argument), so the search is over the order in which machines are informed. Errors:
/// kInvalidArgument naming source, others, or the limit (use FastestNodeFirst).
absl::StatusOr<Seconds> ExactBroadcastLength(Seconds source, const std::vector<Seconds>& others);

/// Returns SNF of the others to the source, then FNF from it. Bounds: 3.5 times the optimum when
///   the source is the fastest machine (Theorem 3).
absl::StatusOr<Seconds> AllReduceLength(Seconds source, const std::vector<Seconds>& others);

}  // namespace weir::planner::tree
