#pragma once

// Schedules of this folder as planner::Plan: what CheckPlan, Predict and the executor take.
// Upstream: any Schedule, SpreadSchedule. Downstream: Plan.

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/plan/plan.h"
#include "planner/tree/broadcast.h"
#include "planner/tree/schedule.h"

namespace weir::planner::tree {

/// When the step of one message runs. A held step waits for its start whatever else is ready.
struct StepTiming {
  Seconds start_s = 0;
  Seconds duration_s = 0;
  bool held = false;
};

/// Adds a reduction to a plan: one kCombine step per message on its receiver, one transfer per
/// message and run that it carries, and the sections between them.
///
/// Symbols: elements[i] = step that makes machine i's element; its worker carries out machine i.
///   The segments of the schedule become byte ranges of element_bytes in proportion to their units.
///   timing: empty, or one entry a message; without it a step lasts as long as the message
///   combines.
/// Model: a message whose segments were made by several steps of its sender is packed by one more
///   kCombine step without duration, so that it pays its latency once. The transfers get the
///   schedule's starts, later by begin_s, as wanted starts; steps of a worker are appended to
///   compute_order in the schedule's order. The caller then orders the plan (OrderByStart) and sets
///   kStrict. Ports are full duplex and combining overlaps in a Plan, so a schedule made for a
///   stricter port model is predicted no longer than planned.
/// Returns: the steps that hold the result on the root's worker, one per run, in segment order.
/// Errors: kInvalidArgument naming elements or element_bytes.
/// Checked by: tests/unit/planner_tree/tree_plan_test.cc.
absl::StatusOr<std::vector<StepIndex>> AppendReduction(const Schedule& schedule,
                                                       absl::Span<const StepIndex> elements,
                                                       Bytes element_bytes, Seconds begin_s,
                                                       Plan* plan,
                                                       absl::Span<const StepTiming> timing = {});

/// Adds a broadcast of `result` (made on the source's worker) to the workers of others 0..m-1: one
/// transfer and one kCombine step of no duration per machine, from which it sends on.
/// `timing` as above, one entry a machine in the order of `spread`.
/// Requires: workers[i] = worker of other i. Returns the steps by other.
absl::StatusOr<std::vector<StepIndex>> AppendBroadcast(
    const SpreadSchedule& spread, StepIndex result, absl::Span<const WorkerIndex> workers,
    Bytes element_bytes, Seconds begin_s, Plan* plan, absl::Span<const StepTiming> timing = {});

/// Returns the network of LinkCosts for elements of `units` units and element_bytes bytes: latency
///   alpha, beta per unit, no cut.
NetworkModel NetworkOf(const LinkCosts& costs, std::int32_t num_machines, double units,
                       Bytes element_bytes);

/// Returns a whole plan of one reduction: a map step without duration per machine, released at
///   ready_s (empty: 0), then the reduction, in strict order, with predicted times.
///
/// Errors: kInvalidArgument when network and schedule have different numbers of machines, or as
///   AppendReduction.
/// Example: FromTree of GreedyTree(4, {1, 1}) -> makespan 4.
absl::StatusOr<Plan> ReductionPlan(const Schedule& schedule, const NetworkModel& network,
                                   Bytes element_bytes, const std::vector<Seconds>& ready_s = {});

}  // namespace weir::planner::tree
