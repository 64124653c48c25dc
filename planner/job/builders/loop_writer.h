#pragma once

// Writes the iterations of a loop into a plan. Upstream: loop_plan, which chooses the trees.
// Downstream: planner/tree, transfer_orders.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/job/job_drafts.h"
#include "planner/job/loop_shape.h"
#include "planner/plan/plan.h"
#include "planner/tree/model/schedule.h"
#include "planner/tree/speeds/broadcast.h"

namespace weir::planner {

/// The mappers of a loop; they are the machines of its trees, in this order.
struct LoopHosts {
  const NetworkModel& network;
  std::vector<WorkerIndex> workers;      // by mapper
  std::vector<double> combine_slowdown;  // by mapper: what takes longer than at unit rate
  tree::MachineIndex root = 0;

  std::int32_t num_mappers() const { return static_cast<std::int32_t>(workers.size()); }
  double PortSlowdown(tree::MachineIndex mapper) const {
    const auto worker = static_cast<std::size_t>(workers[static_cast<std::size_t>(mapper)]);
    return network.port_slowdown.empty() ? 1 : network.port_slowdown[worker];
  }
};

/// How an iteration folds the mappers' elements, and tells the state: along trees, to and from the
/// root, or by ranges of places, of which each mapper folds and updates some (reduce-scatter) and
/// sends them to all others (all-gather).
struct LoopTrees {
  tree::Schedule first;   // of iteration 0
  tree::Schedule others;  // of every later one
  tree::SpreadSchedule spread;
  /// Ranges that each mapper updates, one after the other, so that one is told while the next is
  /// folded; 0 = trees. Ports with less rate get less places.
  std::int32_t ranges_per_mapper = 0;

  bool by_ranges() const { return ranges_per_mapper > 0; }
};

/// Returns the loop with `iterations` after the first pass, in strict order and timed, without
/// summary but its makespan.
///
/// Model by ranges: in round t = 1 .. p - 1 mapper j sends the mapper t further on its range, so
///   that each port has one message a round. An update step folds what it gets in the order of the
///   mappers; one reduce step a mapper makes the part of its ranges.
/// Requires: one mapper a host; schedules and spread are of as many machines, with the hosts' root;
///   by ranges: loop.element_wise, as many places of elements as of states.
/// Errors: those of AppendReduction, AppendBroadcast and OrderByStart.
/// Checked by: tests/unit/planner_job/loop_plan_test.cc.
absl::StatusOr<Plan> WriteLoop(const LoopShape& loop, const NetworkModel& network,
                               const LoopHosts& hosts, const std::vector<MapperDraft>& mappers,
                               const LoopTrees& trees, std::int32_t iterations);

}  // namespace weir::planner
