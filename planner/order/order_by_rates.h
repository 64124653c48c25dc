#pragma once

// Rates instead of an order: all transfers at once, each paced at its share of ports and cuts.
// Upstream: PlanAssembly, EditPlan. Downstream: fair_sharing (who uses what), transfer_orders.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Slowest that a socket is paced at: four segments of 1448 bytes in each 200 ms. With fewer on
/// their way in the shortest retransmission timeout of Linux, a lost one is found by the timer and
/// not by those that arrive after it.
inline constexpr double kSlowestRateBytesPerS = 28960;

/// Makes the plan a kRates plan, with a rate for each transfer, and adds times.
///
/// Model: layer by layer (a transfer belongs to the layer of its consumer). Within one, everything
///   ends together: transfer i, whose run is there at r_i and whose consumer lasts q_i, gets b_i /
///   (E - q_i - r_i - latency), at least kSlowestRateBytesPerS (and no more than its ports), for
///   the least E at which the rates of all together fit every port and cut (PacedBytesPerS): the
///   least that brings it there in time, so that others have most. r_i is as predicted with the
///   rates of the layers before. Rates are constant, so what waves of mappers leave idle before the
///   last one is lost: orders are better there, which Predict tells.
/// Proven: where all runs of a layer come at once and its consumers last equally long, no schedule
///   ends it earlier at that pacing, but for kSlowestRateBytesPerS.
/// Requires: plan->network, steps, sections, transfers and compute_order are filled.
/// Errors: kFailedPrecondition where the network's rate is not known, or where a port or cut has
///   more transfers than it carries at kSlowestRateBytesPerS each; kInvalidArgument when the plan
///   breaks CheckStructure.
/// Thread-safety: pure. O(layers * transfers * cuts) time, some 60 times over.
/// Checked by: tests/unit/planner_plan/rates_test.cc (by hand),
///   tests/unit/planner_job/rates_property_test.cc (against a search and a sweep of their own).
absl::Status OrderByRates(Plan* plan);

/// The same for the rest of such a plan, which must go on.
///
/// Model: the first `num_under_way` transfers keep the rate that they have. They are taken to be
///   over when the others begin, which otherwise wait for room (rate_room.h). Where there is not
///   room for kSlowestRateBytesPerS each, the slowest get half of an equal share.
absl::Status OrderRestByRates(std::size_t num_under_way, Plan* plan);

/// What is done where there is not room for kSlowestRateBytesPerS each.
enum class NoRoom {
  kIsRefused,    // as OrderByRates does
  kMakesSlower,  // as OrderRestByRates does
};

/// Both of these, and what lanes are made of (lanes/order_by_lanes.h): a layer's transfers in
/// windows, one after the other.
///
/// Model: what moves in a window ends together, as early as its ports and cuts allow, if it begins
///   when its run is there and the window before has ended; in the last one, consumers end
///   together, as OrderByRates has it. Rates are of that; whatever finds room before it begins
///   earlier. Keeps Plan::port_lanes, which says what each transfer takes beside its bytes.
/// Requires: window_of holds a number >= 0 for each transfer, or is empty: one window a layer.
absl::Status RateWindows(NoRoom no_room, std::size_t num_under_way,
                         const std::vector<std::int32_t>& window_of, Plan* plan);

}  // namespace weir::planner
