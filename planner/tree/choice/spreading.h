#pragma once

// Collectives that leave their result on every machine: broadcast in segments, and all-reduce.
// Upstream: selection. Downstream: spreading_plan (-> planner::Plan).

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/choice/selection.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// Messages of which the first `combining` (in any interleaving, see `spreads`) reduce and the
/// others copy finished segments, which their senders keep.
struct SpreadingSchedule {
  Schedule schedule;
  /// One entry a message: true where it copies.
  std::vector<bool> spreads;
  /// The other candidates, as ReductionChoice.
  std::vector<ReductionCandidate> candidates;
};

/// Chooses a broadcast from problem.root: the best reduction of a free operation, backwards in
/// time. Every port carries the same messages in the opposite order, so it takes as long.
///
/// Under a limit of transfers it keeps to that limit, too. On slow ports each message takes as long
/// as the slower of its ports: of the tree for such ports (003) and the best for equal ones
/// whichever is shorter then. It begins when the root's element is ready; the other dates,
/// problem.commutative and gamma do not count.
///
/// Errors: as ChooseReduction.
/// Checked by: tests/unit/planner_tree/spreading_test.cc.
absl::StatusOr<SpreadingSchedule> ChooseBroadcast(ReductionProblem problem);

/// Chooses the shortest all-reduce:
/// - reduction to a root, and a broadcast: of each segment from there as soon as the ports allow,
///   or in segments of its own once the reduction has ended, so that none is longer than the two;
///   on slow ports also the reduction for equal ones, which may have segments and keep an order;
/// - where the operation commutes: reduce-scatter on a circulant graph and all-gather on its
///   reverse; a ring of p or more segments, in parts that travel while others are combined;
/// - under cuts also Rabenseifner's exchange near machines first and back far machines first
///   (rack_schedules.h), and the others with the machines of a rack side by side. The reduction to
///   a root is then often the hierarchical one, and goes back the same way.
///
/// All are timed alike: under a limit of transfers and under cuts as lanes allow, each message as
/// long as the slower of its ports takes, and none before its sender's element is ready. With
/// release dates the machine that has the reduction's result first is the one that tells it.
///
/// Bounds: a ring or circulant takes 2 (p - 1) / p beta units of each port, which is least.
/// Errors: as ChooseReduction.
/// Checked by: tests/unit/planner_tree/spreading_test.cc.
absl::StatusOr<SpreadingSchedule> ChooseAllReduce(const ReductionProblem& problem);

}  // namespace weir::planner::tree
