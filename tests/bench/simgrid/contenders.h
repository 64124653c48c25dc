#pragma once

// The reductions of planner/tree that SimGrid judges: what the planner chooses, and fixed families.
// Upstream: planner/tree. Downstream: reduction_judge.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "planner/plan/plan.h"
#include "planner/tree/model/schedule.h"
#include "tests/bench/simgrid/platform.h"

namespace weir::bench {

/// One reduction to host 0 as a plan, and what the planner expects of it.
struct Contender {
  std::string name;
  std::int64_t num_segments = 1;
  planner::Plan plan;
  /// Predict of the plan, and what ChooseReduction took it for.
  planner::Seconds predicted_s = 0;
  planner::Seconds scheduled_s = 0;
};

/// An element of `bytes` on every host of the tree; combining one byte takes
/// combine_seconds_per_byte.
struct Reduction {
  FatTree tree;
  planner::Bytes bytes = 0;
  double combine_seconds_per_byte = 0;
};

/// Names of the fixed families, in the order in which they are judged.
std::vector<std::string> FamilyNames();

/// Returns the winner of ChooseReduction. `knows_cuts`: the choice is given the cuts of the tree.
/// `with_cuts`: the plan's network has them, so that the transfers are ordered on their lanes.
/// Errors: those of ChooseReduction and ReductionPlan.
absl::StatusOr<Contender> Chosen(const Reduction& reduction, bool knows_cuts, bool with_cuts);

/// Returns the family's schedule with its best power of two of segments or parts, by its times
/// without cuts; those for racks (rack_schedules.h) by their times under the cuts.
/// Errors: kNotFound for another name; those of the builders.
absl::StatusOr<Contender> Family(const std::string& name, const Reduction& reduction,
                                 bool with_cuts);

}  // namespace weir::bench
