#pragma once

// Rates and an order: ports carry some transfers at a time instead of one, or all.
// Upstream: builders in planner/job, EditPlan. Downstream: order_by_rates.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Most transfers of one port at a time that are tried or may be asked for. What a gap costs falls
/// as 1 / k, and each takes a socket at both ends.
inline constexpr std::int32_t kPortLanesMax = 64;

/// Fewest that are tried. Each window waits for the last of what the one before had on its ports,
/// which no prediction knows; with two lanes there are so many that nothing was left of what they
/// gain. Measured on emulated networks, 8 hosts: two lanes took 1.00 to 1.03 of what an order took,
/// four 0.98 to 0.99 (docs/benchmarks/network.md).
inline constexpr std::int32_t kPortLanesWorthIt = 4;

/// Makes an ordered plan one whose ports carry `lanes` transfers at a time, and adds times.
///
/// Model: a layer whose busiest port or lane of a cut has m transfers one after the other is cut
///   into ceil(m / lanes) windows, each as long as `lanes` of these take in the order. What the
///   order moves in a window moves at once there, each transfer at the rate that brings it to the
///   window's end (RateWindows). A transfer that lies in two windows is cut at their border, or
///   goes whole where most of it is, whichever of both is predicted to end first; nothing is cut
///   off that takes less than kShortestGrantS at its part of a port. Transfers are listed window by
///   window: that is the order in which they take what ports and cuts have left (rate_room.h), so
///   that the next window begins as this one leaves room.
/// Proven: where all runs are there when a layer begins and its consumers last equally long, no
///   window ends later than as if it began when the one before it had ended. Without latency and
///   gap, and with pieces as short as one likes, that is no later than the order.
/// Returns: the most windows of a layer. 1: everything moves at once, as by OrderByRates.
///   One lane leaves the plan as it is.
/// Requires: a plan of kOvertake with orders and times; lanes >= 1; no reduction trees.
/// Errors: kFailedPrecondition where the network's rate is not known, or where a port or cut has
///   not kSlowestRateBytesPerS for each; kInvalidArgument when the plan breaks CheckStructure or
///   has another order. The plan is then as it was.
/// Thread-safety: pure; same input, same plan. Time: two of OrderByRates.
/// Checked by: tests/unit/planner_plan/lanes_test.cc (by hand),
///   tests/unit/planner_job/lanes_property_test.cc.
absl::StatusOr<std::int32_t> OrderByLanes(std::int32_t lanes, Plan* plan);

/// Returns the numbers of lanes worth trying for an ordered plan, rising: kPortLanesWorthIt and
/// doubled up to kPortLanesMax, as long as they make more than one window and leave each socket of
/// the fastest port kSlowestRateBytesPerS. Requires: the network's rate is known.
std::vector<std::int32_t> LanesToTry(const Plan& ordered);

/// Returns the plan of LanesToTry that is predicted to end first, of those that end before
/// `to_beat_s` by what they must gain: kRatesReserve over the square root of the number of windows,
/// at least kFinerGain. Nothing: none does.
///
/// Why: a section that is larger than planned makes its window longer, as it makes all of a plan by
/// rates longer; over windows that evens out. Measured with sizes off by up to 10 % (lanes_test.cc,
///   SectionsOfAnotherSizeCostMoreTheFewerWindowsThereAre): of what rates lose more than an order,
///   2 windows lose about half there; 0.7 is asked of them, as it is where sections are unequal.
/// `to_beat_s` may be infinite. Errors and requirements are those of OrderByLanes; a number of
/// lanes with an error is passed over.
std::optional<Plan> BestLanes(const Plan& ordered, Seconds to_beat_s);

/// The same for the rest of such a plan, which must go on.
///
/// Model: the first `num_under_way` transfers keep the rate that they have (OrderRestByRates). The
///   others are dealt to windows in the order of their indices, each to the first that is none of
///   an earlier one of its ports and in which both its ports have fewer than Plan::port_lanes.
absl::Status OrderRestByLanes(std::size_t num_under_way, Plan* plan);

}  // namespace weir::planner
