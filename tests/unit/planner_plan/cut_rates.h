#pragma once

// What crosses the cuts of a plan at each moment, by rates alone: a second opinion on lanes.

#include <vector>

#include "planner/plan/plan.h"
#include "planner/plan/predict/predict.h"

namespace weir::planner {

/// Returns, for each cut, the largest sum of the rates of transfers that are under way at one
/// moment, in channels: one at full rate counts 1, one of a pair of slow-down s counts 1 / s.
/// Intervals that only touch do not overlap; nor do those that overlap by less than 1e-9 of the
/// last finish. Knows nothing of lanes and orders. O(cuts * transfers^2).
std::vector<double> MostAcrossCuts(const Plan& plan, const std::vector<Interval>& transfers);

/// The planned times of the transfers.
std::vector<Interval> PlannedTransfers(const Plan& plan);

}  // namespace weir::planner
