#pragma once

// Starting orders worth comparing for machines of different speeds.
// Upstream: selection. Downstream: SenderSchedule.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/speeds/earliest_possible.h"

namespace weir::planner::tree {

/// One way to order the senders.
struct SequenceCandidate {
  std::string name;
  absl::StatusOr<SenderSchedule> schedule;
};

/// Returns slowest-node-first and local search; without a limit also the exact order, from the
/// class table for up to three speeds or from the slot search for few senders.
///
/// Requires: times finite and not negative; a bad time is the error of every candidate.
/// Thread-safety: pure; same times, same orders.
/// Checked by: tests/unit/planner_tree/selection_test.cc, choice_property_test.cc.
std::vector<SequenceCandidate> SequenceCandidates(const std::vector<Seconds>& times,
                                                  std::int64_t max_transfers);

}  // namespace weir::planner::tree
