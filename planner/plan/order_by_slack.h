#pragma once

// Orders a shuffle so that whatever limits it (a port or a cut) is never idle while it has work.
// Upstream: builders whose network has more than one kind of limit: racks, slow ports, unequal
// sections, mappers that are ready at different times. Downstream: OrderByStart, CheckPlan.

#include "absl/status/status.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Above this many transfers in the plan OrderBySlack only does what OrderByPriority does.
inline constexpr std::int32_t kSlackTransfersMax = 260;

/// Orders the transfers of a plan, cutting them into pieces where that helps.
///
/// Model: layer by layer, event by event. The slack of a port or cut is what is left of the layer's
///   bound (volume over rate after every release, plus the work of the reducer behind a receive
///   port) when it works without a pause from now on. At each event the transfers that run are an
///   assignment of senders to receivers of greatest weight, each resource weighing exp(-slack /
///   scale); cuts enter by prices that are raised until each carries no more than its channels.
///   Several scales and lengths of piece are tried, and the list rule of OrderByPriority; the plan
///   with the least predicted makespan is kept, so the result is never worse than the list rule.
/// Bounds: none proven beyond the list rule's. Measured on random shuffles (1 to 4 channels between
///   two racks, release waves, 40 % at one receiver):
///   tests/unit/planner_plan/order_by_slack_test.cc states how far above OrderBound.
/// Requires: plan->network, steps, sections, compute_order, and one transfer for each section that
///   moves; no trees (kCombine steps).
/// Errors: kInvalidArgument when the plan breaks CheckStructure or its precedence has a cycle.
/// Thread-safety: pure; same input, same plan.
/// Time: O(tries * events * workers^3): 8 workers some 10 ms, 16 up to half a second; the tries end
///   with a plan within 0.5 % of OrderBound.
absl::Status OrderBySlack(Plan* plan);

}  // namespace weir::planner
