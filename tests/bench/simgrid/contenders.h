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
  /// Predict of the plan, and what ChooseReduction took it for on machines without cuts.
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

/// Returns the winner of ChooseReduction. `with_cuts`: the plan's network has the cuts of the tree,
/// so that the transfers are ordered on their lanes; the choice itself knows none.
/// Errors: those of ChooseReduction and ReductionPlan.
absl::StatusOr<Contender> Chosen(const Reduction& reduction, bool with_cuts);

/// Returns the family's schedule with the first number of segments (a power of two) that twice as
/// many do not shorten, without cuts. Errors: kNotFound for another name; those of the builders.
absl::StatusOr<Contender> Family(const std::string& name, const Reduction& reduction,
                                 bool with_cuts);

}  // namespace weir::bench
