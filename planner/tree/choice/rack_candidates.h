#pragma once

// Reductions for machines in racks that a choice under cuts compares. Upstream: rack_schedules.
// Downstream: selection.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/plan/network_model.h"
#include "planner/tree/choice/selection.h"
#include "planner/tree/hosts/racks.h"
#include "planner/tree/model/schedule.h"

namespace weir::planner::tree {

/// A schedule with its times under the cuts, or why there is none.
struct RackCandidate {
  std::string name;
  absl::StatusOr<Schedule> schedule;
};

/// Builds the candidates, each with its best number of segments or parts:
/// - trees: rack binomial, rack pipeline, rack two-tree;
/// - Rabenseifner near first, and rails: as many as a rack allows, and as many as the narrowest cut
///   has channels.
/// Of operations that do not commute only what keeps the order of operands (CheckOrderPreserved).
///
/// Nothing where the cuts make no racks of several machines, or only one.
/// Requires: network = NetworkOfMachines(problem), racks = RacksOf(network, problem.root); no
///   slow-downs.
/// Symbols: messages_max = most messages of one candidate.
/// Thread-safety: pure. Checked by: tests/unit/planner_tree/cut_choice_test.cc.
std::vector<RackCandidate> RackCandidates(const ReductionProblem& problem,
                                          const NetworkModel& network, const Racks& racks,
                                          std::int64_t messages_max);

}  // namespace weir::planner::tree
