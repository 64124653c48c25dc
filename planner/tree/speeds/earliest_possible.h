#pragma once

// Earliest-possible and slowest-node-first schedules of machines with different speeds (003,
// sections 3 and 4). Upstream: class_dp, slot_search, sequence_search. Downstream: SenderSchedule.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/timed_tree.h"

namespace weir::planner::tree {

/// Most senders of a materialised heterogeneous schedule.
inline constexpr std::int64_t kSendersMax = std::int64_t{1} << 24;

/// No limit on concurrent transfers.
inline constexpr std::int64_t kNoTransferLimit = std::int64_t{1} << 60;

/// A reduction of senders 0..m-1 to one destination that never sends.
///
/// Model: 003, section 2: sender i's message takes t_i, combining included; sender and receiver do
///   nothing else.
struct SenderSchedule {
  /// Order in which the messages start: positions in the caller's list of times.
  std::vector<std::int32_t> sequence;
  /// By position in `sequence`: start, and receiver as sender number; kNoMachine = the destination.
  std::vector<Seconds> start_s;
  std::vector<MachineIndex> receiver;
  Seconds makespan_s = 0;
};

/// Starts the messages in the given order as early as possible, and assigns receivers.
///
/// Model: m + 1 tokens (free partials) at time 0; a message takes the two earliest tokens a <= b,
///   starts at b and returns one token at b + t. With at most K transfers it also waits for one of
///   the K before to end.
/// Errors: kInvalidArgument naming senders[i], K, or a sequence that is not a permutation.
/// Ties: tokens of equal time by age. O(m log m).
/// Source: 003, algorithm EP (the text's "starts at s(p) + t(p)" must read s(p)); receivers: Lemma
///   1.
/// Example: times 10, 5, 5, 5, 4, 2 -> starts 0, 0, 0, 5, 10, 14, makespan 16 (Fig. 3).
/// Checked by: tests/unit/planner_tree/heterogeneous_test.cc, heterogeneous_property_test.cc.
absl::StatusOr<SenderSchedule> EarliestPossible(const std::vector<Seconds>& times,
                                                const std::vector<std::int32_t>& sequence,
                                                std::int64_t max_transfers = kNoTransferLimit);

/// EP of the slowest first; ties by position.
/// Bounds: at most twice the optimum (Theorem 2; worst found 1.133); optimal for two classes with
///   ratio >= 2 (Theorem 4).
absl::StatusOr<SenderSchedule> SlowestNodeFirst(const std::vector<Seconds>& times,
                                                std::int64_t max_transfers = kNoTransferLimit);

/// Returns the makespan of EP alone; `ordered` holds the times in starting order. Inputs are not
/// checked.
Seconds EarliestPossibleLength(const std::vector<Seconds>& ordered,
                               std::int64_t max_transfers = kNoTransferLimit);

}  // namespace weir::planner::tree
