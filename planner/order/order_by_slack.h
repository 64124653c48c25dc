#pragma once

// Orders a shuffle so that whatever limits it (a port or a cut) is never idle while it has work.
// Upstream: builders whose network has more than one kind of limit: racks, slow ports, unequal
// sections, mappers that are ready at different times. Downstream: OrderByStart, CheckPlan.

#include "absl/status/status.h"
#include "planner/order/coalesce.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Above this many transfers in the plan they are dispatched one by one (DispatchBySlack) instead
/// of matched anew at each event (ScheduleBySlack).
inline constexpr std::int32_t kSlackTransfersMax = 260;
/// Work that a machine does in a second (SlackSchedule::work), and the most that is ever done:
/// kSlackWorkMax, or where transfers are dispatched each way to weigh slack once within
/// kDispatchWorkMax, or one dispatch, which may take more.
inline constexpr double kSlackWorkPerS = 6e8;
inline constexpr std::int64_t kSlackWorkMax = 100'000'000;
inline constexpr std::int64_t kDispatchWorkMax = 1'000'000'000;
/// Returns the work (SlackSchedule::work) that ordering this plan may cost if it is to take
/// `makespan_s`: kPlanningPart of it, at most as above.
std::int64_t SlackWorkFor(const Plan& plan, Seconds makespan_s);

/// How OrderBySlack orders a plan within so much work.
enum class SlackOrder {
  kMatched,     // the transfers that run are an assignment, anew at each event
  kDispatched,  // one after the other, as ports and lanes fall free
  kNone,        // there is no time for either: the list rule stands
};
SlackOrder SlackOrderWithin(const Plan& plan, std::int64_t work_max);

/// Orders the transfers of a plan, cutting them into pieces where that helps and there are few.
///
/// Up to kSlackTransfersMax transfers: schedules layer by layer with ScheduleBySlack, first with
/// whole transfers and chance, then cut into pieces of at least `shortest_s` on the wire, then with
/// more chance. Above: with DispatchBySlack, whole, first without chance. Until a plan is within
/// 0.5 % of OrderBound or `work_max` is passed. The plan with the least predicted makespan is kept,
/// that of OrderByPriority among them, so the result is never worse than the list rule. Bounds:
/// none proven beyond the list rule's. Measured on random shuffles (1 to 4 channels between
///   two racks, release waves, 40 % at one receiver):
///   tests/unit/planner_plan/order_by_slack_test.cc states how far above OrderBound; of up to 500
///   workers: tests/bench/order, docs/benchmarks/planner.md.
/// Requires: plan->network, steps, sections, compute_order, and one transfer for each section that
///   moves; no trees (kCombine steps).
/// Errors: kInvalidArgument when the plan breaks CheckStructure or its precedence has a cycle.
/// Thread-safety: pure; same input, same plan.
/// Time: that of OrderByPriority and `work_max`; one try takes some 0.5 ms for eight workers, 20 ms
///   for sixteen, dispatched 3 ms for 64, some seconds for 500.
absl::Status OrderBySlack(Plan* plan, std::int64_t work_max = kSlackWorkMax,
                          Seconds shortest_s = kShortestGrantS);

}  // namespace weir::planner
