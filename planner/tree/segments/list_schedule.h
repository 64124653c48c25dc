#pragma once

// List scheduling of one given tree per segment: what binomial, pipeline, binary, two-tree and
// rotating centres share. Upstream: tree_shapes. Downstream: Schedule.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// Most messages of one materialised schedule ((p - 1) q): 4 Mi messages are about 250 MB.
inline constexpr std::int64_t kMessagesMax = std::int64_t{1} << 22;

/// Checks p >= 1, sizes and costs of a segmented reduction. Errors: kInvalidArgument naming p,
/// segments, alpha, beta, gamma.
absl::Status CheckSegmented(std::int64_t num_machines, const std::vector<double>& units,
                            const LinkCosts& costs);

/// Orders the messages of given trees: always the message that can start first, ties by segment,
/// then by sender.
///
/// Symbols: trees[j % trees.size()] holds the receivers of segment j, machine 0 the root.
/// Requires: every entry a tree towards machine 0 (tree_shapes).
/// Errors: kInvalidArgument naming p, segments, alpha, beta, gamma or a machine that is on a cycle.
/// Thread-safety: pure. Time: O(p q log(p q)) for trees of bounded degree and segments of few
/// sizes; what waits for a port is not looked at again while the port is busy. Checked by:
/// tests/unit/planner_tree/list_schedule_test.cc.
/// Bounds: none in general; circulant trees lose a factor of 1.4 to 2.9 this way, so they keep
///   their rounds (circulant.h).
absl::StatusOr<Schedule> ListSchedule(std::string method,
                                      const std::vector<std::vector<MachineIndex>>& trees,
                                      std::vector<double> units, const LinkCosts& costs,
                                      PortModel ports);

}  // namespace weir::planner::tree
