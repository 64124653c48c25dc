#pragma once

// The small shuffles by which a calibration finds what order and what sharing cost. Pure. Upstream:
// CalibrationMachine. Downstream: planner/order, Predict.

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/plan/plan.h"
#include "runtime/master/calibrate/calibration_patterns.h"

namespace weir::master {

/// Returns up to `most` of the workers that are not left out, evenly spread over their order.
std::vector<int> SpreadWorkers(const std::vector<bool>& left_out, std::size_t most);

/// Each to each other, or each to the first.
std::vector<ProbeFlow> AllToAll(const std::vector<int>& workers);
std::vector<ProbeFlow> AllToFirst(const std::vector<int>& workers);

/// Longest time that one port, and one cut, needs at full rate for `bytes` of each flow.
struct BusiestSeconds {
  double port_s = 0;
  double cut_s = 0;
};
BusiestSeconds BusiestOf(const planner::NetworkModel& network, const std::vector<ProbeFlow>& flows,
                         double bytes);

/// Returns those flows as an ordered plan of one shuffle whose runs are all there at its start, as
/// jobs order theirs (OrderBySlack); its transfers are the flows, by index, whole.
/// Requires: section_bytes take less than two kShortestGrantS, so that no order cuts them.
/// Errors: those of OrderBySlack.
absl::StatusOr<planner::Plan> OrderedShuffle(const planner::NetworkModel& network,
                                             const std::vector<ProbeFlow>& flows,
                                             planner::Bytes section_bytes);

/// By transfer: those that stand right before it at a port or in a lane.
std::vector<std::vector<std::size_t>> RightBefore(const planner::Plan& plan);

/// Returns the gap between transfers (NetworkModel::transfer_gap_s) with which Predict says that
/// the plan takes `took_s`; 0 where it took no longer than without any, at most kGapMaxS.
inline constexpr double kGapMaxS = 1;
double FittedGapSeconds(planner::Plan plan, double took_s);

}  // namespace weir::master
