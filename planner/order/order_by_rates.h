#pragma once

// Rates instead of an order: all transfers at once, each paced at its share of ports and cuts.
// Upstream: PlanAssembly, EditPlan. Downstream: fair_sharing (who uses what), rate_allocation,
// transfer_orders.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "planner/plan/plan.h"
#include "planner/plan/predict/rate_allocation.h"

namespace weir::planner {

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

/// Most transfers of a plan whose rates change over time: each that becomes ready or ends has those
/// of all others looked at. All sections of 64 workers are 4032.
inline constexpr std::size_t kOverTimeTransfersMax = 4096;

/// Makes the plan a kRates plan whose rates change over time, and adds times.
///
/// Model: RateAllocation's, with senders that obey at once. A transfer begins as soon as its run is
///   there; whoever moves then gives way, and whatever ends leaves its rate to others. So waves of
///   mappers leave nothing idle that somebody could use, and sections of another size than planned
///   cost their bytes only. Nothing is known of runs that are not there yet: a plan that keeps a
///   receiver free for one may end earlier.
/// Requires, errors: as OrderByRates, but that transfers for which a port or cut has not
///   kSlowestRateBytesPerS wait; kFailedPrecondition above kOverTimeTransfersMax transfers.
/// Thread-safety: pure.
/// Checked by: tests/unit/planner_plan/rate_allocation_test.cc (by hand),
///   tests/unit/planner_job/rates_over_time_property_test.cc.
absl::Status OrderByRatesOverTime(Plan* plan);

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
