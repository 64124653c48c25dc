#pragma once

// The part of CheckPlan about loops: jobs that map what stays with the mappers again and again.
// Upstream: CheckPlan, after CheckLoads.

#include "absl/status/status.h"
#include "planner/plan/plan.h"

namespace weir::planner {

/// Checks the iterations of a plan that has iterate or update steps; accepts every other one.
///
/// Model: iteration 0 maps the input, which stays with the mappers; each later one maps it again
///   with the state that the update step of the one before made. The layer of iterate and update
///   steps is their iteration. Combine steps fold what the mappers of one iteration make, or pass a
///   state on.
/// - Iterations are numbered from 0; each has as many update steps, by number those of one worker.
///   A single one reads every place of what each mapper of its iteration made exactly once, and the
///   state before. Of several each does so for a range of places, always the same; their ranges
///   follow one another by rising number, and each reads its range of the state before.
/// - No worker has two mappers. Mapper j of a later iteration is on the worker of map step j, where
///   the input lies, and reads the state of the iteration before, whole, in one section of each
///   range.
/// - A state, or a range of it, is cut by nobody: its sections all hold the same places, one or
///   more.
/// - One reduce step on each worker that updates, numbered by rising places: it reads what each of
///   the update steps there makes, in place, and nothing else. Nobody else reads the loop.
/// Requires: CheckStructure and the rules about sections are OK.
/// Errors: kInvalidArgument naming the rule, the step and the section.
/// Thread-safety: pure. Time: O(sections * slices of an element * log).
/// Checked by: tests/unit/planner_plan/check_loops_test.cc.
absl::Status CheckLoops(const Plan& plan);

}  // namespace weir::planner
