#pragma once

// Evaluation of a matrix of destinations and search over all matrices (001, evaluate and find_min).
// Upstream: instance files, figures. Downstream: Schedule.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// destination[segment][machine]: machine (from 0) to which `machine` sends that segment; entry 0
/// is 0.
using DestinationMatrix = std::vector<std::vector<MachineIndex>>;

/// Evaluates one matrix as 001 does: segments in order; within a segment always the leaf whose
/// transfer can start first, ties by index; a transfer holds each port for beta and reaches the
/// receiver alpha later; combining overlaps. beta and gamma are the times of one segment.
///
/// Returns: nullopt when a segment has a cycle (Inf in the source).
/// Errors: kInvalidArgument naming n, m, solution_rows, alpha, beta or gamma.
/// Source: 001, evaluate.
/// Example: the document's solution1 with alpha = .1, beta = 1, gamma = .3 -> 3.8.
absl::StatusOr<std::optional<Seconds>> EvaluateDestinations(const DestinationMatrix& destination,
                                                            const LinkCosts& costs);

/// Returns the messages that the same evaluation starts, in its order.
/// Errors: as above, and kInvalidArgument naming solution_rows where a segment has a cycle.
absl::StatusOr<Schedule> DestinationsSchedule(const DestinationMatrix& destination,
                                              const LinkCosts& costs);

/// Orders the messages of a matrix with backfilling, the other evaluation that 001 names: at each
/// step the leaves of all segments are looked at, not only those of the first segment that is not
/// done, and the one whose transfer can start first goes next, ties by segment, then by machine.
///
/// Bounds: none; a greedy order. Of the source's four cases the best matrix is as short as
///   SegmentedExactSearch.
/// Errors: as DestinationsSchedule.
/// Source: 001, "Another evaluation method could consider backfilling".
/// Example: segment 1 of machines 2 and 3 to machine 1, segment 2 of machine 3 to machine 2 and on
///   to 1; alpha = 0, beta = gamma = 1 -> 4, where the segments in order take 6.
/// Checked by: tests/unit/planner_tree/segmented_evaluation_test.cc.
absl::StatusOr<Schedule> BackfilledSchedule(const DestinationMatrix& destination,
                                            const LinkCosts& costs);

/// What find_min of 001 prints.
struct FindMinResult {
  Seconds makespan_s = 0;
  std::int64_t num_tested = 0;   // (n-1)^(m (n-1))
  std::int64_t num_valid = 0;    // (n^(n-2))^m, Cayley's formula per segment
  std::int64_t num_optimal = 0;  // ties within 1e-9
  DestinationMatrix best;        // the first optimal one found
  /// Optimal matrices that differ by more than a renaming of machines, in order of discovery;
  /// empty above kFindMinListedMax valid ones.
  std::vector<DestinationMatrix> distinct;
};

/// Largest search of FindMinDestinations: trees per segment to the power m, n and m.
inline constexpr std::int64_t kFindMinLeavesMax = 20'000'000;
inline constexpr std::int64_t kFindMinMachinesMax = 8;
inline constexpr std::int64_t kFindMinSegmentsMax = 1000;
/// Searches with more valid matrices than this do not list the distinct ones.
inline constexpr std::int64_t kFindMinListedMax = 100'000;

/// Tries every matrix. Evaluates segment by segment, so that a prefix that is already too long or
/// cyclic is not extended.
///
/// Errors: kInvalidArgument naming n or m when (n^(n-2))^m exceeds kFindMinLeavesMax (use
///   SegmentedExactSearch or a schedule builder), alpha, beta, gamma.
/// Source: 001, find_min.
/// Checked by: tests/unit/planner_tree/segmented_evaluation_test.cc (the printed results).
absl::StatusOr<FindMinResult> FindMinDestinations(std::int32_t n, std::int32_t m,
                                                  const LinkCosts& costs);

}  // namespace weir::planner::tree
