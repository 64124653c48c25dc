#pragma once

// Schedules of this folder as planner::Plan: what CheckPlan, Predict and the executor take.
// Upstream: any Schedule, SpreadSchedule. Downstream: Plan.

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "planner/plan/plan.h"
#include "planner/tree/hosts/host_times.h"
#include "planner/tree/model/schedule.h"
#include "planner/tree/speeds/broadcast.h"

namespace weir::planner::tree {

/// What a reduction runs on, beside the plan's network.
struct ReductionOptions {
  /// What the machines can do at once. A Plan by itself is full duplex and overlaps.
  PortModel ports;
  /// Combining on a machine takes this times the schedule's combine_s: one entry a machine, finite
  /// and above 0; empty = all 1.
  std::vector<double> combine_slowdown;
  /// When each machine's element is ready, in the plan's time; empty = all begin_s.
  std::vector<Seconds> ready_s;
  /// Size of one place of an element (8: a vector of doubles). Segments are whole places.
  Bytes place_bytes = 1;
  /// The root joins the runs of the result into one, in a kCombine step of no duration (a broadcast
  /// needs one).
  bool join_result = false;
  /// When each message travels and is combined, later by begin_s: one entry a message, taken as
  /// they are. Empty: as the Model below says.
  std::vector<MessageTimes> times;
  /// Every combine step waits for its planned start, whatever else is ready.
  bool held = false;
  /// ComputeStep::layer of the combine steps: whose input they combine.
  std::int32_t layer = 1;
  /// ComputeStep::index_in_layer of the first combine step. Nothing: they are numbered on from
  /// those of the layer, for which all steps of the plan are looked at.
  std::optional<std::int32_t> first_number = std::nullopt;
};

/// Adds a reduction to a plan: one transfer and one kCombine step on its receiver per message, and
/// the sections between them.
///
/// Symbols: elements[i] = step that makes machine i's element; its worker carries out machine i.
///   The segments of the schedule become ranges of places, in proportion to their units.
/// Sections: Section::indexes are places of the whole element. The sections of a combine step stand
///   in the order of its operands, left to right: whoever folds them in this order keeps the order
///   of the machines wherever the schedule does (CheckOrderPreserved).
/// Model: the transfers get wanted starts, later by begin_s: the schedule's own where they hold on
///   plan->network, else those of host_times.h (slow ports, cuts, combine_slowdown), or
///   options.times. Steps are
///   appended to compute_order by planned start. The caller then orders the plan (OrderByStart) and
///   sets kStrict.
///   A message that carries several runs joins them first, in a kCombine step of no duration on the
///   sender. One that wraps around the last segment (reduce-scatter) travels as two transfers, each
///   with the network's latency.
///   Stricter ports are a timetable: where a plan would start a transfer or a combine step too
///   early, the step, or one of no duration in front of the transfer, gets its planned start as
///   release_s. So Predict gives the planned times; when something is late, a machine may for that
///   time do at once what its ports forbid.
/// What a Plan cannot say: latency that holds no port (latency_holds_ports false) holds both, so
///   such a schedule is predicted later. A transfer that the timetable holds back waits for its
///   sender's combine step under way, so half duplex with overlap is predicted later too, and then
///   not kept. Costs of 003, which depend on the sender alone or on a sum, are those of the slower
///   port. Before its own element is ready a machine that overlaps may receive, so release dates
///   are predicted no later than their schedule.
/// Returns: the steps that hold the result on the root's worker, one per run, in segment order.
/// Errors: kInvalidArgument naming elements, element_bytes, a field of options or of the network,
///   or a message of the schedule that cannot be sent (FollowRuns).
/// Checked by: tests/unit/planner_tree/tree_plan_test.cc, family_plans_test.cc.
absl::StatusOr<std::vector<StepIndex>> AppendReduction(const Schedule& schedule,
                                                       absl::Span<const StepIndex> elements,
                                                       Bytes element_bytes, Seconds begin_s,
                                                       Plan* plan,
                                                       const ReductionOptions& options = {});

/// Adds a broadcast of `result` (made on the source's worker) to the workers of others 0..m-1: one
/// transfer and one kCombine step of no duration per machine, from which it sends on.
///
/// Model: as AppendReduction; the messages keep the order of spread.start_s on every port.
/// Requires: workers[i] = worker of other i.
///   times: empty, or one entry a message in the order of the spread. Then each step lasts its
///   combine_s and waits for its combine_begin_s, both given as spread.start_s is.
///   first_number: as ReductionOptions::first_number.
/// Returns: the steps by other.
/// Errors: kInvalidArgument naming result, workers, place_bytes, times or the spread.
absl::StatusOr<std::vector<StepIndex>> AppendBroadcast(
    const SpreadSchedule& spread, StepIndex result, absl::Span<const WorkerIndex> workers,
    Bytes element_bytes, Seconds begin_s, Plan* plan, Bytes place_bytes = 1,
    absl::Span<const MessageTimes> times = {},
    std::optional<std::int32_t> first_number = std::nullopt);

/// Returns the network of LinkCosts for elements of `units` units and element_bytes bytes: latency
///   alpha, beta per unit, no cut.
NetworkModel NetworkOf(const LinkCosts& costs, std::int32_t num_machines, double units,
                       Bytes element_bytes);

/// Adds a map step a machine, without duration, that makes its element of element_bytes bytes at
/// ready_s (seconds; empty = 0 of all) on the worker of the same number. Requires: the workers
/// 0 .. num_machines - 1 exist; ready_s is empty or has an entry a machine. Returns the steps.
std::vector<StepIndex> AddElements(std::int32_t num_machines, Bytes element_bytes,
                                   absl::Span<const Seconds> ready_s, Plan* plan);

/// Returns a whole plan of one reduction: a map step without duration per machine, released at
///   ready_s (empty: options.ready_s), then the reduction, in strict order, with predicted times.
///
/// Errors: kInvalidArgument when network and schedule have different numbers of machines, or as
///   AppendReduction.
/// Example: FromTree of GreedyTree(4, {1, 1}) -> makespan 4.
absl::StatusOr<Plan> ReductionPlan(const Schedule& schedule, const NetworkModel& network,
                                   Bytes element_bytes, const std::vector<Seconds>& ready_s = {},
                                   const ReductionOptions& options = {});

}  // namespace weir::planner::tree
