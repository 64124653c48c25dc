#pragma once

// The communication schedule of a layer whose loads are known.
// Upstream: layer.h, fast_layer.h. Downstream: wheel.h, interval_program.h, longest_remaining.h,
// whole_bytes.h.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/load/communication.h"
#include "planner/load/layer.h"

namespace weir::planner::load {

struct ScheduleOptions {
  /// Pieces a pair, on average, that a wheel and the longest-remaining-first way may use. The
  /// interval program is optimal for the loads and may use more.
  double pieces_per_pair_max = 2.1;
  /// Largest number of transfer variables given to the interval program.
  std::int64_t program_size_max = 8000;
};

/// When each pair of a layer talks, in scaled time (units of T0).
struct LayerSchedule {
  std::vector<Piece> pieces;
  /// End of the last piece, not before the last sender's finish.
  double makespan = 0;
  /// "wheel", "interval program", "longest remaining first", "nothing to send".
  std::string method;
};

/// Returns t_j and C g x_j delta_k of a layer.
ShuffleDemand DemandOf(const ScaledLayer& layer, const std::vector<double>& share);

/// Schedules the communication of a layer for given loads.
///
/// Model: L max(delta) <= 1 and channels handed over: wheel, exact; its last window, when groups do
///   not divide n, by matching. Otherwise small layers by the interval program (optimal for these
///   loads), large ones longest remaining first, and small ones where rounding or the solver leaves
///   the exact ways without an end; all decomposed by matching.
/// Requires: shares in finishing order, summing to 1.
/// Returns: pieces merged, none dropped.
/// Errors: kInternal where rounding leaves a matching of longest remaining first without an end.
/// Checked by: tests/unit/planner_load/communication_test.cc.
absl::StatusOr<LayerSchedule> ScheduleLayer(const ScaledLayer& layer,
                                            const std::vector<double>& share,
                                            const ScheduleOptions& options);

/// Schedules by the source's own steps: program (1)-(18), then 4.3 for every interval. Reference.
absl::StatusOr<LayerSchedule> ScheduleLayerBySource(const ScaledLayer& layer);

}  // namespace weir::planner::load
